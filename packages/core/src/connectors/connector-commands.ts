import {
  AskbackError,
  permissionMode,
  spellOut,
  spellOutLine,
  type Actor,
  type Session,
} from '@askback/protocol'
import type { Origin } from '../desk/desk-options.js'
import type { ConnectorLine, Place } from './connector.js'

interface Called {
  line: ConnectorLine
  place: Place
  by: Actor
  origin: Origin
  argument: string
  except: readonly string[]
  help: SurfaceHelp
}

/** What `/help` says about one surface. */
export interface SurfaceHelp {
  /** How to answer there. */
  answer: string
  /** Commands that the surface has by itself. */
  more?: readonly string[]
}

export interface CommandInput {
  place: string
  text: string
  by: Actor
  /** Makes a repeated one count once. */
  key?: string
  /** Those that make no sense on this surface. */
  except?: readonly string[]
  help?: SurfaceHelp
}

const LISTED = 10
const CHAT: SurfaceHelp = {
  answer: 'Answer with the buttons or with a text. Reply to a message to say which one you mean.',
}

const commands: Record<string, { help: string; run: (called: Called) => Promise<string> }> = {
  sessions: { help: '/sessions [number]: list the sessions, or choose one', run: sessions },
  follow: {
    help: '/follow [all|this]: be shown what waits in all sessions, or in the chosen one',
    run: follow,
  },
  pending: { help: '/pending: show again what waits for you', run: pending },
  new: { help: '/new [message]: start a session', run: startNew },
  mode: { help: `/mode [${permissionMode.options.join('|')}]: what needs your approval`, run: mode },
  stop: { help: '/stop: interrupt the agent', run: stop },
  clear: { help: '/clear: cancel what waits and start with a fresh context', run: clear },
  help: { help: '/help: this list', run: async ({ except, help }) => helpText(except, help) },
}

/** For a surface that lists them. */
export const connectorCommands = Object.entries(commands).map(([command, { help }]) => ({
  command,
  description: help.slice(help.indexOf(': ') + 2),
}))

/** What a person says with a slash. `null` if it is no command of ours. */
export async function runCommand(
  line: ConnectorLine,
  { place: placeId, text, by, key, except = [], help = CHAT }: CommandInput,
): Promise<string | null> {
  const [, name = '', argument = ''] = /^\/([a-z]+)(?:@\S+)?(?:\s+(.*))?$/is.exec(text.trim()) ?? []
  const command = Object.hasOwn(commands, name.toLowerCase()) ? commands[name.toLowerCase()] : undefined
  if (!command || except.includes(name.toLowerCase())) return null
  const place = line.places().find(({ id }) => id === placeId) ?? { id: placeId, sessions: 'all' as const }
  const origin: Origin = { by, via: line.via, ...(key !== undefined && { idempotencyKey: key }) }
  try {
    return await command.run({ line, place, by, origin, argument: argument.trim(), except, help })
  } catch (error) {
    if (error instanceof AskbackError && error.code !== 'internal') return error.message
    throw error
  }
}

async function sessions({ line, place, argument }: Called): Promise<string> {
  const all = await line.desk.sessions(LISTED)
  if (argument !== '') {
    const chosen = all[Number(argument) - 1]
    if (!chosen)
      return `There is no session ${spellOut(argument.slice(0, 20), 'prose')}. /sessions lists them.`
    await line.setPlace(place.id, { ...place, current: chosen.id })
    return `Your texts go to ${nameOf(chosen)} now.`
  }
  if (all.length === 0) return 'There is no session yet. /new starts one.'
  const rows = all.map((session, index) => {
    const mark = session.id === place.current ? ' ←' : ''
    return `${index + 1}. ${nameOf(session)} (${session.status})${mark}`
  })
  return [...rows, 'Choose one with /sessions and its number.'].join('\n')
}

async function follow(called: Called): Promise<string> {
  const { line, place, argument } = called
  switch (argument.toLowerCase()) {
    case 'all':
      await line.setPlace(place.id, { ...place, sessions: 'all' })
      return 'You are shown what waits in all sessions.'
    case 'this': {
      const session = await current(called)
      await line.setPlace(place.id, { ...place, sessions: [session.id] })
      return `You are shown what waits in ${nameOf(session)} only.`
    }
    default:
      return place.sessions === 'all'
        ? 'You are shown what waits in all sessions.'
        : 'You are shown what waits in the chosen session.'
  }
}

async function pending({ line, place }: Called): Promise<string> {
  const count = await line.showAgain(place.id)
  return count === 0
    ? 'All caught up.'
    : `${count === 1 ? 'One thing waits' : `${count} things wait`} for you.`
}

async function startNew({ line, place, by, origin, argument }: Called): Promise<string> {
  const session = await line.desk.createSession(origin)
  const sessions = place.sessions === 'all' ? 'all' : [...new Set([...place.sessions, session.id])]
  await line.setPlace(place.id, { ...place, sessions, current: session.id })
  if (argument === '') return `Started ${nameOf(session)}. Your texts go there now.`
  await line.desk.message({ sessionId: session.id, text: argument, ...origin, by })
  return `Started ${nameOf(session)}, with your message.`
}

async function mode(called: Called): Promise<string> {
  const session = await current(called)
  const { argument, line, origin } = called
  if (argument === '') return `${nameOf(session)} is in mode ${session.permissionMode}.`
  const wanted = permissionMode.options.find((each) => each.toLowerCase() === argument.toLowerCase())
  if (!wanted) return `A mode is one of ${permissionMode.options.join(', ')}.`
  await line.desk.setPermissionMode(session.id, wanted, origin)
  return `${nameOf(session)} is in mode ${wanted} now.`
}

async function stop(called: Called): Promise<string> {
  const session = await current(called)
  await called.line.desk.interrupt(session.id, called.origin)
  return `Stopped ${nameOf(session)}. What waited is cancelled.`
}

async function clear(called: Called): Promise<string> {
  const session = await current(called)
  await called.line.desk.clear(session.id, called.origin)
  return `Cleared ${nameOf(session)}: its pending requests are cancelled and the agent’s context is cleared.`
}

async function current({ line, place }: Called): Promise<Session> {
  const session = place.current === undefined ? null : await line.desk.session(place.current)
  if (session) return session
  throw new AskbackError('invalid_request', 'No session is chosen. /sessions lists them, /new starts one.')
}

function helpText(except: readonly string[], { answer, more = [] }: SurfaceHelp): string {
  const own = Object.entries(commands).flatMap(([name, { help }]) => (except.includes(name) ? [] : [help]))
  return [answer, ...own, ...more].join('\n')
}

function nameOf({ title, agent, id }: Session): string {
  return spellOutLine(title ?? agent ?? id, 'prose')
}
