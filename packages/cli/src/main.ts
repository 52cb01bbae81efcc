import { AskbackError, errorCodes } from '@askback/protocol/errors'
import { usageError, usageErrorFrom } from './arguments.js'
import { COMMAND_HELP, commandHelpText, isHelpRequested, overviewText, type CommandName } from './help.js'
import { version } from './serve/package-files.js'
import { say } from './terminal.js'

/** Resolves to the exit code, or to nothing if the process continues to run, as with `serve`. */
type CliCommand = (args: string[]) => Promise<number | undefined>

/** Each command loads only what it needs: one that calls a running gateway must not wait until a whole server is loaded. */
const commands: Record<CommandName, () => Promise<CliCommand>> = {
  serve: async () => (await import('./serve/serve.js')).serve,
  open: async () => (await import('./open.js')).open,
  logout: async () => (await import('./access.js')).logout,
  doctor: async () => (await import('./doctor.js')).doctor,
  token: async () => (await import('./access.js')).token,
  ask: async () => (await import('./ask.js')).ask,
  form: async () => (await import('./ask.js')).form,
  'request-approval': async () => (await import('./ask.js')).requestApproval,
  request: async () => (await import('./ask.js')).request,
  wait: async () => (await import('./ask.js')).wait,
  pending: async () => (await import('./sessions.js')).pending,
  answer: async () => (await import('./answer.js')).answer,
  sessions: async () => (await import('./sessions.js')).sessions,
  adopt: async () => (await import('./adopt.js')).adopt,
  send: async () => (await import('./sessions.js')).send,
  audit: async () => (await import('./access.js')).audit,
  mcp: async () => (await import('./mcp.js')).mcp,
  telegram: async () => (await import('./access.js')).telegram,
  attach: async () => (await import('./attach.js')).attach,
  hook: async () => (await import('./hook.js')).hook,
  backup: async () => (await import('./backup.js')).backup,
  restore: async () => (await import('./backup.js')).restore,
  export: async () => (await import('./export.js')).exportAll,
  import: async () => (await import('./import.js')).importAll,
  install: async () => (await import('./install.js')).install,
  uninstall: async () => (await import('./install.js')).uninstall,
}

/** The exit code if nobody reads stdout any more: 128 + SIGPIPE, as for other programs. */
const EXIT_BROKEN_PIPE = 141

/** Commands that continue without a reader, or handle that themselves. */
const CONTINUES_WITHOUT_READER = new Set(['serve', 'mcp'])

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number | undefined> {
  const given = args[0] === 'help' ? [...args.slice(1), '--help'] : args
  const [first = ''] = given
  if (first === '--help' || first === '-h') return print(overviewText())
  if (first === '--version' || first === '-v') return print(`${version()}\n`)
  try {
    // Without a command it serves, since that is what a new user needs first.
    const [name, rest] = first === '' || first.startsWith('-') ? ['serve', given] : [first, given.slice(1)]
    if (!isCommand(name)) throw usageError(`There is no command ${JSON.stringify(name)}.`)
    if (isHelpRequested(rest)) return print(commandHelpText(COMMAND_HELP[name]))
    if (!CONTINUES_WITHOUT_READER.has(name)) process.stdout.on('error', () => process.exit(EXIT_BROKEN_PIPE))
    process.stderr.on('error', () => undefined)
    const command = await commands[name]()
    return await command(rest)
  } catch (error) {
    return fail(error)
  }
}

function isCommand(name: string): name is CommandName {
  return Object.hasOwn(commands, name)
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

/** Prints an error as one sentence, and its stack trace only if it is unexpected and `ASKBACK_DEBUG` is set. */
function fail(error: unknown): number {
  const problem = usageErrorFrom(error) ?? error
  if (problem instanceof AskbackError) {
    say(problem.message)
    return errorCodes[problem.code].exit
  }
  const unexpected = problem instanceof Error ? problem : new Error(String(problem))
  say((process.env['ASKBACK_DEBUG'] ? unexpected.stack : undefined) ?? unexpected.message)
  return 1
}
