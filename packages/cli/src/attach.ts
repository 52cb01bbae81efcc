import { runConnector } from '@askback/connectors'
import { terminalConnector, type TerminalConnector } from '@askback/connectors/terminal'
import { AskbackError, errorMessage, spellOutLine, type Session } from '@askback/protocol'
import { userInfo } from 'node:os'
import { parseArgs } from 'node:util'
import { usageError } from './arguments.js'
import { AttachedDesk } from './attach-desk.js'
import { ADDRESS_FLAGS, findConnection } from './reach/connection.js'
import { GatewayClient } from './reach/gateway-client.js'
import { say as sayOnStderr } from './terminal.js'

export const ATTACH_FLAGS = { ...ADDRESS_FLAGS, plain: { type: 'boolean', default: false } } as const

/** `askback attach [SESSION]`: shows a session in this terminal, where a person answers with keys and texts. */
export async function attach(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: ATTACH_FLAGS })
  if (positionals.length > 1) throw usageError('Usage: askback attach, or askback attach SESSION.')
  const { stdin: input, stdout: output, env } = process
  // Once the terminal has its prompt, messages must be printed above it.
  let say = sayOnStderr
  const gateway = new GatewayClient('person', values, { env, say: (text) => say(text) })
  const session = await findSession(gateway, positionals[0])
  const leaving = new AbortController()
  const desk = new AttachedDesk(session.id, {
    gateway,
    connect: () => findConnection('person', values, env),
    say: (text) => say(text),
    signal: leaving.signal,
  })
  try {
    await desk.open()
    const keys = !values.plain && input.isTTY && output.isTTY && env['TERM'] !== 'dumb'
    const terminal = terminalConnector({
      input,
      output,
      keys,
      by: { id: userInfo().username },
      hasAgent: session.agent !== null,
    })
    say = (text) => void terminal.say(terminal.place, text)
    await showSession(terminal, desk, session)
  } finally {
    leaving.abort()
    releaseInput(input)
  }
  process.stderr.write('Detached. What waits stays pending.\n')
  return 0
}

/** Resolves when the person leaves. */
async function showSession(
  terminal: TerminalConnector,
  desk: AttachedDesk,
  { id, title, agent }: Session,
): Promise<void> {
  const { place } = terminal
  await terminal.say(place, `Attached to ${spellOutLine(title ?? agent ?? 'the session', 'prose')} (${id}).`)
  for (const event of await desk.recent()) await terminal.showEvent?.(place, event)
  const running = runConnector({ connector: terminal, desk, onError: sayError })
  await running.ready
  await running.context.setPlace(place, { sessions: [id], current: id })
  const stop = () => void terminal.stop()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    await Promise.race([terminal.attend(), desk.follow()])
  } finally {
    await terminal.stop()
    await running.stop()
  }
}

/** The named session; else the newest with a pending request; else the newest. */
async function findSession(gateway: GatewayClient, named: string | undefined): Promise<Session> {
  if (named !== undefined) {
    const path = `/api/sessions/${encodeURIComponent(named)}`
    return (await gateway.json<{ session: Session }>({ method: 'GET', path })).session
  }
  const { sessions } = await gateway.json<{ sessions: Session[] }>({
    method: 'GET',
    path: '/api/sessions?limit=100',
  })
  const found = sessions.find(({ status }) => status === 'waiting') ?? sessions[0]
  if (found) return found
  throw new AskbackError('not_found', 'There is no session yet. Start one in the web app: askback open.')
}

/** An open terminal or pipe would keep the process alive. If stdin is a file, it has no `unref`, whatever its type says. */
function releaseInput(input: Partial<typeof process.stdin>): void {
  input.unref?.()
}

function sayError(error: unknown): void {
  sayOnStderr(errorMessage(error))
}
