import { commandHelp, type CommandHelp } from './command-help.js'

/** `askback --help`. */
export function overview(): string {
  const commands = Object.values<CommandHelp>(commandHelp).flatMap(({ usage, summary }) =>
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
export function helpOf({ usage, summary, options, examples }: CommandHelp): string {
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

/** Whether a command was asked for its help; what follows `--` is for the command. */
export function asksForHelp(args: string[]): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end < 0 ? args.length : end).some((word) => word === '--help' || word === '-h')
}

function columns(rows: [string, string][]): string {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd() + '\n').join('')
}
