import {
  AskbackError,
  emptyState,
  fold,
  sessionOf,
  stateToJson,
  type Actor,
  type Interaction,
  type LiveEvent,
  type NewEvent,
  type SessionEvent,
  type SessionState,
  type SettlementKind,
} from '@askback/protocol'
import { AsyncQueue } from '../transport/async-queue.js'
import type { Cursor, RespondInput, SessionSnapshot, Settled, StreamItem } from '../transport/transport.js'
import { EventLog } from './session-events.js'

/** One session of a scripted transport: its log, and who reads it. */
export class ScriptedSession {
  readonly log: EventLog
  readonly readers = new Set<AsyncQueue<StreamItem>>()
  #state: SessionState

  constructor(sessionId: string) {
    this.log = new EventLog(sessionId)
    this.#state = emptyState(sessionId)
  }

  get state(): SessionState {
    return this.#state
  }

  append(events: NewEvent[]): SessionEvent[] {
    const appended = this.log.append(...events)
    this.#state = fold(this.#state, appended)
    return appended
  }

  stream(item: StreamItem): void {
    for (const reader of this.readers) reader.push(item)
  }

  read(after: Cursor): AsyncQueue<StreamItem> {
    const queue = new AsyncQueue<StreamItem>(() => this.readers.delete(queue))
    this.readers.add(queue)
    queue.push({ type: 'connection', status: 'live' })
    for (const event of this.log.events) if (event.seq > after.seq) queue.push({ type: 'event', event })
    return queue
  }

  snapshot(now: number, live: LiveEvent[] = []): SessionSnapshot {
    const { seq, logId } = this.#state
    return { session: sessionOf(this.#state), state: stateToJson(this.#state), seq, now, logId, live }
  }

  /** Settles as a desk would, for the kinds whose answers say how. */
  settle({ interactionId, answer }: RespondInput, by: Actor): Settled {
    const item = this.interaction(interactionId)
    const { toolCallId, toolName, kind, presentation, digest } = item
    const settlement = settlementOf(answer)
    const shared = { interactionId, toolCallId, toolName }
    const events = this.append([
      { type: 'interaction_response', ...shared, kind, digest, settlement, answer, by, via: 'direct' },
      { type: 'interaction_pending', ...shared, presentation, pending: false, reason: settlement },
    ])
    return { interaction: this.#state.interactions.get(interactionId)!, events }
  }

  /** The pending one; throws what a desk would. */
  interaction(interactionId: string): Interaction {
    const item = this.#state.interactions.get(interactionId)
    if (!item) throw new AskbackError('not_found', `There is no interaction ${interactionId}.`)
    if (item.status === 'pending') return item
    throw new AskbackError('already_settled', 'This was already settled.', { details: { interaction: item } })
  }
}

function settlementOf(answer: RespondInput['answer']): SettlementKind {
  const decision = typeof answer === 'object' && answer !== null && 'decision' in answer && answer['decision']
  if (decision === false) return 'answered'
  return decision === 'deny' || decision === 'adjust' ? 'denied' : 'approved'
}
