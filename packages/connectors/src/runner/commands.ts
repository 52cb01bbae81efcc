import type { Repeatable } from '@askback/core'
import { AskbackError, permissionMode, type Actor, type Session } from '@askback/protocol'
import { oneLine, prose } from '../cards/card.js'
import type { ConnectorContext, ConnectorPlace } from './connector.js'
import type { PersonActions } from './connector-desk.js'

/** What `/help` says about one surface. */
export interface SurfaceHelp {
  /** How to answer there. */
  answer: string
  /** Help lines of commands that only this surface has. */
  more?: readonly string[]
}

/** A command that a person typed in a chat. */
export interface CommandInput {
  place: string
  text: string
  by: Actor
  /** Commands with the same key run once. */
  key?: string
  /** Names of commands that do not exist on this surface. @default [] */
  except?: readonly string[]
  help?: SurfaceHelp
}

interface CommandCall {
  context: ConnectorContext
  place: ConnectorPlace
  person: PersonActions
  repeatable: Repeatable
  argument: string
  except: readonly string[]
  help: SurfaceHelp
}

/** How many of the newest sessions `/sessions` lists. */
const MAX_LISTED_SESSIONS = 10
const CHAT_HELP: SurfaceHelp = {
  answer: 'Answer with the buttons or with a text. Reply to a message to say which one you mean.',
}

const COMMANDS: Record<string, { help: string; run: (call: CommandCall) => Promise<string> }> = {
  sessions: { help: '/sessions [number]: list the sessions, or choose one', run: sessions },
  follow: {
    help: '/follow [all|this]: be shown what waits in all sessions, or in the chosen one',
    run: follow,
  },
  pending: { help: '/pending: show again what waits for you', run: pending },
  new: { help: '/new [message]: start a session', run: startSession },
  mode: { help: `/mode [${permissionMode.options.join('|')}]: what needs your approval`, run: mode },
  stop: { help: '/stop: interrupt the agent', run: stop },
  clear: { help: '/clear: cancel what waits and start with a fresh context', run: clear },
  help: { help: '/help: this list', run: async ({ except, help }) => helpText(except, help) },
}

/** The names and descriptions of all commands, for a surface that has a menu of commands. */
export const connectorCommands = Object.entries(COMMANDS).map(([command, { help }]) => ({
  command,
  description: help.slice(help.indexOf(': ') + 2),
}))

/**
 * Runs a text that begins with a slash, and resolves to what to tell the person, or to `null` if there is no such command.
 * Errors that the person can understand are part of that reply; others are thrown.
 *
 * @example
 * const reply = await runCommand(context, { place: 'chat-1', text: '/sessions', by: { id: 'ada' } })
 */
export async function runCommand(
  context: ConnectorContext,
  { place: placeId, text, by, key, except = [], help = CHAT_HELP }: CommandInput,
): Promise<string | null> {
  const [, given = '', argument = ''] = /^\/([a-z]+)(?:@\S+)?(?:\s+(.*))?$/is.exec(text.trim()) ?? []
  const name = given.toLowerCase()
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (!command || except.includes(name)) return null
  const place = context.places().find(({ id }) => id === placeId) ?? { id: placeId, sessions: 'all' as const }
  const person = context.desk.as({ by, via: context.via })
  const repeatable = { idempotencyKey: key }
  try {
    return await command.run({ context, place, person, repeatable, argument: argument.trim(), except, help })
  } catch (error) {
    if (error instanceof AskbackError && error.code !== 'internal') return error.message
    throw error
  }
}

async function sessions({ context, place, argument }: CommandCall): Promise<string> {
  const all = await context.desk.sessions(MAX_LISTED_SESSIONS)
  if (argument !== '') {
    const chosen = all[Number(argument) - 1]
    if (!chosen) return `There is no session ${prose(argument.slice(0, 20))}. /sessions lists them.`
    await context.setPlace(place.id, { ...place, current: chosen.id })
    return `Your texts go to ${nameOf(chosen)} now.`
  }
  if (all.length === 0) return 'There is no session yet. /new starts one.'
  const rows = all.map((session, index) => {
    const mark = session.id === place.current ? ' ←' : ''
    return `${index + 1}. ${nameOf(session)} (${session.status})${mark}`
  })
  return [...rows, 'Choose one with /sessions and its number.'].join('\n')
}

async function follow(call: CommandCall): Promise<string> {
  const { context, place, argument } = call
  switch (argument.toLowerCase()) {
    case 'all':
      await context.setPlace(place.id, { ...place, sessions: 'all' })
      return 'You are shown what waits in all sessions.'
    case 'this': {
      const session = await currentSession(call)
      await context.setPlace(place.id, { ...place, sessions: [session.id] })
      return `You are shown what waits in ${nameOf(session)} only.`
    }
    default:
      return place.sessions === 'all'
        ? 'You are shown what waits in all sessions.'
        : 'You are shown what waits in the chosen session.'
  }
}

async function pending({ context, place }: CommandCall): Promise<string> {
  const count = await context.showAgain(place.id)
  return count === 0
    ? 'All caught up.'
    : `${count === 1 ? 'One thing waits' : `${count} things wait`} for you.`
}

async function startSession(call: CommandCall): Promise<string> {
  const { context, place, person, repeatable, argument } = call
  const session = await person.createSession(repeatable)
  const shown = place.sessions === 'all' ? 'all' : [...new Set([...place.sessions, session.id])]
  await context.setPlace(place.id, { ...place, sessions: shown, current: session.id })
  if (argument === '') return `Started ${nameOf(session)}. Your texts go there now.`
  await person.message({ sessionId: session.id, text: argument, ...repeatable })
  return `Started ${nameOf(session)}, with your message.`
}

async function mode(call: CommandCall): Promise<string> {
  const session = await currentSession(call)
  const { argument, person, repeatable } = call
  if (argument === '') return `${nameOf(session)} is in mode ${session.permissionMode}.`
  const wanted = permissionMode.options.find((each) => each.toLowerCase() === argument.toLowerCase())
  if (!wanted) return `A mode is one of ${permissionMode.options.join(', ')}.`
  await person.setPermissionMode(session.id, wanted, repeatable)
  return `${nameOf(session)} is in mode ${wanted} now.`
}

async function stop(call: CommandCall): Promise<string> {
  const session = await currentSession(call)
  await call.person.interrupt(session.id, call.repeatable)
  return `Stopped ${nameOf(session)}. What waited is cancelled.`
}

async function clear(call: CommandCall): Promise<string> {
  const session = await currentSession(call)
  await call.person.clear(session.id, call.repeatable)
  return `Cleared ${nameOf(session)}: its pending requests are cancelled and the agent’s context is cleared.`
}

async function currentSession({ context, place }: CommandCall): Promise<Session> {
  const session = place.current === undefined ? null : await context.desk.session(place.current)
  if (session) return session
  throw new AskbackError('invalid_request', 'No session is chosen. /sessions lists them, /new starts one.')
}

function helpText(except: readonly string[], { answer, more = [] }: SurfaceHelp): string {
  const lines = Object.entries(COMMANDS).flatMap(([name, { help }]) => (except.includes(name) ? [] : [help]))
  return [answer, ...lines, ...more].join('\n')
}

function nameOf({ title, agent, id }: Session): string {
  return oneLine(title ?? agent ?? id)
}
