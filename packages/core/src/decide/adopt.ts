import { AskbackError, type EventOf, type Json, type NewEvent, type SessionState } from '@askback/protocol'
import { optional } from '../optional.js'
import type { KvWrite } from '../store/store.js'
import type { Context, Decision } from './command.js'
import { tagsWrite } from './control.js'

/** An event that happened before the session was adopted. */
export interface PastEvent {
  /** Milliseconds since 1970. */
  at: number
  event: NewEvent
}

/** An interaction that was pending when its session was adopted. A copy of it is added once it is settled. */
export interface LateCopy {
  interactionId: string
  /** The session in which it is asked and answered. */
  sourceId: string
  placement: HistoryPlacement
  turnId: string
}

/** The tool call of a history that an interaction belongs to, and how that was found. */
export interface HistoryPlacement {
  toolCallId: string
  by: 'id' | 'command' | 'time'
}

/** As much of a history as one append writes. */
export interface HistoryPart {
  events: PastEvent[]
  late: LateCopy[]
  /** Index of the first item of the next part; `null` after the last part. */
  next: number | null
}

/** Appends one part of a history. Does nothing unless that part is next: two callers may write the same history. */
export interface AdoptCommand extends Pick<
  EventOf<'session_started'>,
  'agent' | 'title' | 'cwd' | 'realCwd' | 'tags'
> {
  type: 'adopt'
  agentSessionId: string
  startedAt: number
  /** Index of the first item of the part. */
  first: number
  part: HistoryPart
}

/** Adds the copy of an interaction that was settled after its session was adopted. */
export interface AddCopyCommand {
  type: 'add_copy'
  /** The id of the copy. */
  interactionId: string
  events: PastEvent[]
}

/** Key of the record that says how many items of an incomplete history are written. */
export function adoptionKey(sessionId: string): string {
  return `session/${sessionId}/adoption`
}

export const LATE_COPY_PREFIX = 'adopted/'

/** Outside of the session's own keys, so that a new process finds the records of all sessions by one prefix. */
export function lateCopyKey(sessionId: string, interactionId: string): string {
  return `${LATE_COPY_PREFIX}${sessionId}/${interactionId}`
}

export function adopt(state: SessionState, command: AdoptCommand, context: Context): Decision {
  const { sessionId, seq, ended } = state
  const { first, part, startedAt, agentSessionId, agent, title, cwd, realCwd, tags } = command
  if (ended) throw new AskbackError('unavailable', `The session ${sessionId} is being deleted.`)
  if (first !== (seq === 0 ? 0 : context.imported)) return { events: [] }
  const past: PastEvent[] = [...part.events]
  if (seq === 0) {
    const event: NewEvent = {
      type: 'session_started',
      agent,
      permissionMode: 'default',
      source: 'adopted',
      ...optional({ title, cwd, realCwd, tags }),
    }
    past.unshift({ at: startedAt, event })
  }
  // Written last, because an agent cannot continue an incomplete history; dated now, so that retention does not delete an old
  // session right after it was adopted.
  if (part.next === null) past.push({ at: context.now, event: { type: 'agent_session', agentSessionId } })
  const progress = part.next === null ? null : { items: part.next }
  return {
    ...dated(past),
    kv: [
      { key: adoptionKey(sessionId), value: progress },
      ...part.late.map((late) => lateCopyWrite(sessionId, late)),
      ...(seq === 0 ? (tagsWrite(sessionId, tags).kv ?? []) : []),
    ],
  }
}

export function addCopy(
  state: SessionState,
  { interactionId, events }: AddCopyCommand,
  context: Context,
): Decision {
  const exists = state.interactions.has(interactionId) || context.found?.interactionId === interactionId
  return exists ? { events: [] } : dated(events)
}

/** Copies the events: an append changes them, and the command may be decided again after a conflict. */
function dated(past: PastEvent[]): Pick<Decision, 'events' | 'times'> {
  return { events: past.map(({ event }) => ({ ...event })), times: past.map(({ at }) => at) }
}

function lateCopyWrite(sessionId: string, late: LateCopy): KvWrite {
  return {
    key: lateCopyKey(sessionId, late.interactionId),
    value: { ...late, placement: { ...late.placement } },
  }
}

/** How many items of a history are written, as the entry under `adoptionKey` says. */
export function adoptedItems(value: Json): number {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only this module writes these entries
  return (value as { items: number }).items
}
