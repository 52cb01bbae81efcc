import { AskbackError, errorCodes } from '@askback/protocol/errors'
import { commandHelp, type CommandName } from './command-help.js'
import { asksForHelp, helpOf, overview } from './help.js'
import { usageError, usageProblem } from './usage.js'
import { version } from './version.js'
import { say } from './output.js'

/** Resolves to the exit code. `serve` goes on after it is ready. */
type Command = (args: string[]) => Promise<number | undefined>

/** Each loads only what it needs: one that asks a running gateway should not wait for a server to be read. */
const commands: Record<CommandName, () => Promise<Command>> = {
  serve: async () => (await import('./serve/serve.js')).serve,
  open: async () => (await import('./open.js')).open,
  logout: async () => (await import('./logout.js')).logout,
  doctor: async () => (await import('./doctor.js')).doctor,
  token: async () => (await import('./token.js')).token,
  ask: async () => (await import('./ask.js')).ask,
  form: async () => (await import('./form.js')).form,
  'request-approval': async () => (await import('./request-approval.js')).requestApproval,
  wait: async () => (await import('./wait.js')).wait,
  pending: async () => (await import('./pending.js')).pending,
  answer: async () => (await import('./answer.js')).answer,
  sessions: async () => (await import('./sessions.js')).sessions,
  adopt: async () => (await import('./adopt.js')).adopt,
  send: async () => (await import('./send.js')).send,
  audit: async () => (await import('./audit.js')).audit,
  mcp: async () => (await import('./mcp.js')).mcp,
  telegram: async () => (await import('./telegram.js')).telegram,
  attach: async () => (await import('./attach.js')).attach,
  hook: async () => (await import('./hook.js')).hook,
  backup: async () => (await import('./backup.js')).backup,
  restore: async () => (await import('./restore.js')).restore,
  export: async () => (await import('./export.js')).exportAll,
  import: async () => (await import('./import.js')).importAll,
  install: async () => (await import('./install.js')).install,
  uninstall: async () => (await import('./install.js')).uninstall,
}

/** As a program that the system ends for that. */
const READER_GONE = 141

/** These go on without a reader, or see to that themselves. */
const GO_ON = new Set(['serve', 'mcp'])

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number | undefined> {
  const given = args[0] === 'help' ? [...args.slice(1), '--help'] : args
  const [first = ''] = given
  if (first === '--help' || first === '-h') return print(overview())
  if (first === '--version' || first === '-v') return print(`${version()}\n`)
  try {
    // Without a command it serves: that is the first thing anyone wants.
    const [name, rest] = first === '' || first.startsWith('-') ? ['serve', given] : [first, given.slice(1)]
    if (!isCommand(name)) throw usageError(`There is no command ${JSON.stringify(name)}.`)
    if (asksForHelp(rest)) return print(helpOf(commandHelp[name]))
    if (!GO_ON.has(name)) process.stdout.on('error', () => process.exit(READER_GONE))
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

/** One sentence for a person, which may quote an agent; a stack only for what nobody foresaw, and only if it is asked for. */
function fail(error: unknown): number {
  const problem = usageProblem(error) ?? error
  if (problem instanceof AskbackError) {
    say(problem.message)
    return errorCodes[problem.code].exit
  }
  const told = problem instanceof Error ? problem : new Error(String(problem))
  say((process.env['ASKBACK_DEBUG'] ? told.stack : undefined) ?? told.message)
  return 1
}
