/** The help of one command. A test compares the options with those that the command parses. */
export interface CommandHelp {
  /** What follows `askback`, one entry for each form of the command. */
  usage: string[]
  summary: string
  /** Each flag with its value, and what it does. */
  options: [flag: string, text: string][]
  examples: string[]
}

const GATEWAY: CommandHelp['options'] = [
  ['--url URL', 'the gateway to call (ASKBACK_URL, else the one that runs here)'],
  ['--data DIR', 'the data folder of the gateway that runs here'],
]
const JSON_OUTPUT: CommandHelp['options'] = [['--json', 'print JSON']]
const ASKING: CommandHelp['options'] = [
  ['--session ID', 'ask in this session (ASKBACK_SESSION, else one for this folder)'],
  ['--timeout 10m|never', 'how long to wait for a person (10m, unless the gateway has another default)'],
  ['--json', 'print the whole interaction as JSON'],
  ...GATEWAY,
]
const STORE: CommandHelp['options'] = [
  ['--data DIR', 'the data folder (the default one)'],
  ['--store postgres://…', 'this database instead; or ASKBACK_STORE'],
]

/** What `askback COMMAND --help` prints. The overview has the same order. */
export const COMMAND_HELP = {
  serve: {
    usage: ['serve'],
    summary: 'start the gateway and open the web app',
    options: [
      ['--host ADDRESS', 'listen here (127.0.0.1)'],
      ['--port PORT', 'listen on this port (4100; 0 takes any)'],
      ['--data DIR', 'keep everything here (the user’s data folder)'],
      ['--store postgres://…', 'share this database with other gateways; or ASKBACK_STORE'],
      ['--store-listen postgres://…', 'its direct address, where --store goes through a pooling proxy'],
      ['--lease 10s', 'how long another gateway may be silent before its agents are taken over'],
      ['--config FILE', 'settings (askback.config.ts, .js or .json in the data folder)'],
      ['--allow-host NAME', 'also answer under this name; may be repeated'],
      ['--allow-origin URL', 'also take calls from pages of this origin; may be repeated'],
      ['--tls-cert FILE', 'serve HTTPS with this certificate; or ASKBACK_TLS_CERT'],
      ['--tls-key FILE', 'the key of the certificate; or ASKBACK_TLS_KEY'],
      ['--trust-proxy ADDRESS', 'a proxy in front, which ends TLS; may be repeated; or ASKBACK_TRUST_PROXY'],
      ['--insecure', 'serve plain HTTP even where others can reach it'],
      [
        '--timeout 10m|never',
        'how long a request waits by default; or ASKBACK_TIMEOUT, or "timeout" in the settings',
      ],
      ['--claude PATH', 'run this Claude Code instead of the one of its SDK; or ASKBACK_CLAUDE'],
      ['--no-open', 'do not open the browser'],
      ['--json', 'print one line of JSON when it is ready'],
    ],
    examples: ['askback serve', 'askback serve --port 0 --no-open --json'],
  },
  open: {
    usage: ['open'],
    summary: 'sign another browser in at the gateway that runs here',
    options: [
      ['--print', 'print the link instead; it works once, for ten minutes'],
      ['--data DIR', 'the gateway that runs on this folder'],
      ...JSON_OUTPUT,
    ],
    examples: ['askback open', 'askback open --print'],
  },
  logout: {
    usage: ['logout [NAME]'],
    summary: 'sign all browsers of a person out (you, unless you name somebody); tokens stay',
    options: [['--data DIR', 'the gateway that runs on this folder'], ...JSON_OUTPUT],
    examples: ['askback logout', 'askback logout Ada'],
  },
  token: {
    usage: ['token create --person NAME', 'token list', 'token revoke NAME', 'token agent'],
    summary: 'make, list and revoke people’s tokens; print the one for agents',
    options: [
      ['--person NAME', 'who the token is for'],
      ['--data DIR', 'the gateway that runs on this folder'],
      ...JSON_OUTPUT,
    ],
    examples: [
      'askback token create --person Ada',
      'askback token revoke Ada',
      'export ASKBACK_AGENT_TOKEN=$(askback token agent)',
    ],
  },
  ask: {
    usage: ['ask "QUESTION"'],
    summary: 'ask a person; the answer comes on stdout',
    options: [
      ['--option LABEL', 'a choice; may be repeated; a free text is always possible'],
      ['--multi', 'several may be chosen'],
      ['--header TEXT', 'a short name for the question'],
      ['--default LABEL', 'counts as the answer if nobody answers in time'],
      ...ASKING,
    ],
    examples: ['askback ask "Which database?" --option Postgres --option SQLite', 'askback ask "What name?"'],
  },
  form: {
    usage: ['form SCHEMA.json'],
    summary: 'ask for the values of a form (- reads stdin); they come on stdout as JSON',
    options: [
      ['--message TEXT', 'what the form is for'],
      ['--values JSON|@FILE', 'values to begin with'],
      ['--default JSON|@FILE', 'counts as the answer if nobody answers in time'],
      ...ASKING,
    ],
    examples: ['askback form release.json --message "Plan the release"'],
  },
  'request-approval': {
    usage: ['request-approval --tool NAME'],
    summary: 'ask for permission; ends with 0 if it was approved, with 3 if not',
    options: [
      ['--tool NAME', 'what would run'],
      ['--input JSON|@FILE', 'its input ({})'],
      ['--title TEXT', 'a title'],
      ['--description TEXT', 'what it does'],
      ['--reason TEXT', 'why you ask'],
      ...ASKING,
    ],
    examples: [`askback request-approval --tool deploy --input '{"to":"production"}' && ./deploy.sh`],
  },
  request: {
    usage: ['request --kind NAME'],
    summary: 'ask for a kind of your own; the answer comes as JSON',
    options: [
      ['--kind NAME', 'the kind'],
      ['--input JSON|@FILE', 'the request ({})'],
      ['--default JSON|@FILE', 'counts as the answer if nobody answers in time'],
      ...ASKING,
    ],
    examples: ['askback request --kind time_slot --input @slots.json'],
  },
  wait: {
    usage: ['wait ID'],
    summary: 'wait for the answer to what another process has asked',
    options: [['--json', 'print the whole interaction as JSON'], ...GATEWAY],
    examples: ['askback wait 1m7p2p5yf9jnc2mq'],
  },
  pending: {
    usage: ['pending'],
    summary: 'list pending requests, one per line',
    options: [...JSON_OUTPUT, ...GATEWAY],
    examples: ['askback pending', 'askback pending --json'],
  },
  answer: {
    usage: ['answer ID ANSWER…'],
    summary: 'answer: a label or number, approve or deny, a plan’s decision, NAME=VALUE',
    options: [
      ['--message TEXT', 'why you deny, or what should change in a plan'],
      ['--scope once|session|always', 'how long an approval holds (once)'],
      ['--input JSON|@FILE', 'approve with this input instead'],
      ['--answer JSON|@FILE', 'the whole answer as JSON, for any kind'],
      ['--yes', 'approve without the question that a terminal asks first'],
      ...JSON_OUTPUT,
      ...GATEWAY,
    ],
    examples: [
      'askback answer ID Postgres',
      'askback answer ID deny --message "Not on a Friday"',
      'askback answer ID name=Ada size=3',
    ],
  },
  sessions: {
    usage: ['sessions'],
    summary: 'list all sessions, newest first',
    options: [...JSON_OUTPUT, ...GATEWAY],
    examples: ['askback sessions'],
  },
  attach: {
    usage: ['attach [SESSION]'],
    summary: 'follow a session in this terminal, and answer with keys and texts',
    options: [['--plain', 'line by line, as without a terminal'], ...GATEWAY],
    examples: ['askback attach', 'askback attach SESSION --plain'],
  },
  send: {
    usage: ['send SESSION "TEXT"'],
    summary: 'send a message to a session',
    options: [
      ['--route agent|interaction', 'to the agent, or as an answer to what waits'],
      ['--interaction ID', 'as an answer to this request'],
      ...JSON_OUTPUT,
      ...GATEWAY,
    ],
    examples: ['askback send SESSION "Use the staging database"'],
  },
  adopt: {
    usage: ['adopt FILE|ID'],
    summary: 'continue a session here that Claude Code or Codex has run by itself',
    options: [['--from SESSION', 'where its scripts have asked'], ...JSON_OUTPUT, ...GATEWAY],
    examples: ['askback adopt ~/.claude/projects/app/0b1c.jsonl'],
  },
  audit: {
    usage: ['audit'],
    summary: 'print who settled which request, and other acts of people',
    options: [
      ['--format jsonl|csv', 'the format (jsonl)'],
      ['--only decisions|acts', 'only answers, or only everything else'],
      ['--json', 'the same as --format jsonl'],
      ...GATEWAY,
    ],
    examples: ['askback audit --format csv > audit.csv'],
  },
  mcp: {
    usage: ['mcp'],
    summary: 'run an MCP server on stdin and stdout, with tools that ask a person',
    options: [
      ['--session ID', 'ask in this session (ASKBACK_SESSION, else one for this folder)'],
      ['--timeout 10m|never', 'how long to wait for a person (10m, unless the gateway has another default)'],
      [
        '--wait 45s|never',
        'how long one call waits before it returns “still waiting” (45s; never for clients known to wait)',
      ],
      ['--progress 10s', 'how often to report that it still waits'],
      ...GATEWAY,
    ],
    examples: ['claude mcp add askback -- askback mcp', 'codex mcp add askback -- askback mcp'],
  },
  hook: {
    usage: ['hook claude-code'],
    summary: 'what a hook of Claude Code runs; askback install sets it up',
    options: GATEWAY,
    examples: ['askback install claude-code'],
  },
  install: {
    usage: ['install claude-code'],
    summary: 'have a Claude Code that you start by hand ask here',
    options: [['--project', 'in this folder only'], ['--yes, -y', 'without asking'], ...GATEWAY],
    examples: ['askback install claude-code --project'],
  },
  uninstall: {
    usage: ['uninstall claude-code'],
    summary: 'remove what askback install has added',
    options: [['--project', 'in this folder only'], ['--yes, -y', 'without asking'], ...GATEWAY],
    examples: ['askback uninstall claude-code'],
  },
  telegram: {
    usage: ['telegram pair'],
    summary: 'print a code with which you can answer in Telegram',
    options: [...JSON_OUTPUT, ...GATEWAY],
    examples: ['askback telegram pair'],
  },
  backup: {
    usage: ['backup FILE'],
    summary: 'copy the database to a file and check the copy, while a gateway runs or not',
    options: [
      ['--replace', 'replace the file if it exists'],
      ['--data DIR', 'the data folder (the default one)'],
      ['--store postgres://…', 'not possible: PostgreSQL has pg_dump and pg_restore'],
      ...JSON_OUTPUT,
    ],
    examples: ['askback backup askback-2026-11-18.db'],
  },
  restore: {
    usage: ['restore FILE'],
    summary: 'put a backup in place, while no gateway runs on the data folder',
    options: [
      ['--replace', 'delete the data that is there, and put the backup in its place'],
      ['--data DIR', 'the data folder (the default one)'],
      ['--store postgres://…', 'not possible: PostgreSQL has pg_dump and pg_restore'],
      ...JSON_OUTPUT,
    ],
    examples: ['askback restore askback-2026-11-18.db', 'askback restore askback.db --data ~/elsewhere'],
  },
  export: {
    usage: ['export [FILE]'],
    summary: 'write all sessions, one JSON a line, while no gateway runs on the file',
    options: [
      ['--with-credentials', 'tokens and logins too: anybody who has the file can then sign in'],
      ...STORE,
    ],
    examples: ['askback export backup.jsonl'],
  },
  import: {
    usage: ['import FILE'],
    summary: 'read what askback export wrote; can be repeated',
    options: STORE,
    examples: ['askback import backup.jsonl --store postgres://localhost/askback'],
  },
  doctor: {
    usage: ['doctor'],
    summary: 'check the installation, and say what to do about problems',
    options: [
      ['--deep', 'also read all data, and compare every index with the logs'],
      ['--accept-loss', 'let a gateway start on data that lacks acknowledged writes'],
      ['--claude PATH', 'check this Claude Code; or ASKBACK_CLAUDE'],
      ...JSON_OUTPUT,
      ...GATEWAY,
    ],
    examples: ['askback doctor', 'askback doctor --deep'],
  },
} satisfies Record<string, CommandHelp>

export type CommandName = keyof typeof COMMAND_HELP

/** `askback --help`. */
export function overviewText(): string {
  const commands = Object.values<CommandHelp>(COMMAND_HELP).flatMap(({ usage, summary }) =>
    usage.map((form, index): [string, string] => [`askback ${form}`, index === 0 ? summary : '']),
  )
  return `Askback: agents that ask back.

Usage: askback [COMMAND] [OPTIONS]. Without a command it serves.

${columns(commands)}
askback COMMAND --help shows the options of a command and examples.

Exit codes: 0 answered or approved, 1 other error, 2 usage, 3 denied, 4 cancelled, 5 timed out, 6 no gateway,
7 refused credential.

Tokens come from ASKBACK_TOKEN (a person's) and ASKBACK_AGENT_TOKEN (outside agents') if these are set.
`
}

/** `askback COMMAND --help`. */
export function commandHelpText({ usage, summary, options, examples }: CommandHelp): string {
  const [first = '', ...others] = usage
  const forms = [first, ...others].map(
    (form, index) => `${index === 0 ? 'Usage:' : '      '} askback ${form}`,
  )
  return `${forms.join('\n')}${options.length > 0 ? ' [OPTIONS]' : ''}

${summary.replace(/^./, (letter) => letter.toUpperCase())}.

Options:
${columns(options)}
Examples:
${examples.map((example) => `  ${example}\n`).join('')}`
}

/** Whether the arguments ask for help. What follows `--` belongs to the command. */
export function isHelpRequested(args: string[]): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end < 0 ? args.length : end).some((word) => word === '--help' || word === '-h')
}

function columns(rows: [string, string][]): string {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd() + '\n').join('')
}
