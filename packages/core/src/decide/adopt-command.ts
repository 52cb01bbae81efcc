import { AskbackError, type EventOf, type Json, type NewEvent, type SessionState } from '@askback/protocol'
import { optional } from '../optional.js'
import type { KvWrite } from '../store/store.js'
import type { Late, Part, PastEvent } from './adopt-log.js'
import type { Context, Decision } from './command.js'

/** One part of a history, in its turn. If another one is next, nothing happens. */
export interface AdoptCommand extends Pick<
  EventOf<'session_started'>,
  'agent' | 'title' | 'cwd' | 'realCwd'
> {
  type: 'adopt'
  agentSessionId: string
  startedAt: number
  first: number
  part: Part
}

/** Shows an interaction that was still pending when its session was adopted. */
export interface PlaceCommand {
  type: 'place'
  /** The id that the copy has. */
  interactionId: string
  events: PastEvent[]
}

/** How many items are there of a history that is not complete. */
export function adoptionKey(sessionId: string): string {
  return `session/${sessionId}/adoption`
}

export const LATE_PREFIX = 'adopted/'

/** Not a key of the session's own: all of them are looked for at start. */
export function lateKey(sessionId: string, interactionId: string): string {
  return `${LATE_PREFIX}${sessionId}/${interactionId}`
}

export function adopt(state: SessionState, command: AdoptCommand, context: Context): Decision {
  const { sessionId, seq, ended } = state
  const { first, part, startedAt, agentSessionId, agent, title, cwd, realCwd } = command
  if (ended) throw new AskbackError('unavailable', `The session ${sessionId} is being deleted.`)
  if (first !== (seq === 0 ? 0 : context.imported)) return { events: [] }
  const past: PastEvent[] = [...part.events]
  if (seq === 0) {
    const event: NewEvent = {
      type: 'session_started',
      agent,
      permissionMode: 'default',
      source: 'adopted',
      ...optional({ title, cwd, realCwd }),
    }
    past.unshift({ at: startedAt, event })
  }
  // Last, and now: a history that is not complete cannot be gone on with, and one that is old is not swept away at once.
  if (part.next === null) past.push({ at: context.now, event: { type: 'agent_session', agentSessionId } })
  const progress = part.next === null ? null : { items: part.next }
  return {
    ...dated(past),
    kv: [
      { key: adoptionKey(sessionId), value: progress },
      ...part.late.map((late) => lateWrite(sessionId, late)),
    ],
  }
}

export function placeCopy(
  state: SessionState,
  { interactionId, events }: PlaceCommand,
  context: Context,
): Decision {
  const isThere = state.interactions.has(interactionId) || context.found?.interactionId === interactionId
  return isThere ? { events: [] } : dated(events)
}

/** Copies: an append takes its events for its own, and this may be decided again for another. */
function dated(past: PastEvent[]): Pick<Decision, 'events' | 'times'> {
  return { events: past.map(({ event }) => ({ ...event })), times: past.map(({ at }) => at) }
}

function lateWrite(sessionId: string, late: Late): KvWrite {
  return { key: lateKey(sessionId, late.interactionId), value: { ...late } as unknown as Json }
}
