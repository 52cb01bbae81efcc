import { runConnector } from '@askback/connectors'
import { terminalConnector } from '@askback/connectors/terminal'
import { AskbackError, spellOutLine, type Session } from '@askback/protocol'
import { userInfo } from 'node:os'
import { parseArgs } from 'node:util'
import { AttachedDesk } from './attach-desk.js'
import { findConnection, WHERE, type Where } from './reach/connection.js'
import { Gateway } from './reach/gateway.js'
import { usageError } from './usage.js'
import { say as sayOnStderr } from './output.js'

/** `askback attach [SESSION]`: a session in this terminal, answered with keys and texts. */
export async function attach(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { ...WHERE, plain: { type: 'boolean', default: false } },
  })
  if (positionals.length > 1) throw usageError('Usage: askback attach, or askback attach SESSION.')
  const { stdin: input, stdout: output, env } = process
  let say = sayOnStderr
  const gateway = new Gateway('person', values, { env, say: (text) => say(text) })
  const session = await findSession(gateway, positionals[0])
  const leave = new AbortController()
  const desk = new AttachedDesk(session.id, {
    gateway,
    connect: () => findConnection('person', values satisfies Where, env),
    say: (text) => say(text),
    signal: leave.signal,
  })
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
  const running = runConnector({ connector: terminal, desk, onError: sayError })
  await running.ready
  await running.context.setPlace(terminal.place, { sessions: [session.id], current: session.id })
  const name = spellOutLine(session.title ?? session.agent ?? 'the session', 'prose')
  await terminal.say(terminal.place, `Attached to ${name} (${session.id}).`)
  for (const event of await desk.recent()) await terminal.showEvent?.(terminal.place, event)
  const stop = () => void terminal.stop()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  const following = desk.follow()
  try {
    await Promise.race([terminal.attend(), following])
  } finally {
    leave.abort()
    await terminal.stop()
    await running.stop()
    letGo(input)
  }
  process.stderr.write('Detached. What waits stays pending.\n')
  return 0
}

/** The one that is named; else the newest that waits for somebody, else the newest. */
async function findSession(gateway: Gateway, named: string | undefined): Promise<Session> {
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

/** A terminal or a pipe that stays open would keep the process alive. A file has nothing to let go of, whatever its type says. */
function letGo(input: Partial<typeof process.stdin>): void {
  input.unref?.()
}

function sayError(error: unknown): void {
  sayOnStderr(error instanceof Error ? error.message : String(error))
}
