import {
  AskbackError,
  fold,
  pendingOf,
  STATE_VERSION,
  stateFromJson,
  type LiveEvent,
  type SessionEvent,
  type SessionState,
} from '@askback/protocol'
import { LiveBlocks } from '../layout/live-blocks.js'
import type { SessionSnapshot } from '../transport/transport.js'
import { keepIdentity } from './keep-identity.js'

/** What is on the screen stays there: only a new snapshot takes turns away. */
const KEEP_ALL = { turnsKept: Number.POSITIVE_INFINITY }

/** A session as far as it is known here: events go in as they come, in any order and more than once. */
export class SessionFold {
  readonly live = new LiveBlocks()
  #state: SessionState | null = null
  /** What came before its turn. */
  readonly #ahead = new Map<number, SessionEvent>()
  /** All events from some place on; kept only after somebody has looked back. */
  #past: { start: number; events: SessionEvent[] } | null = null

  get state(): SessionState | null {
    return this.#state
  }

  /** Whether something is missing before what has come. */
  get hasGap(): boolean {
    return this.#ahead.size > 0
  }

  load({ state, live }: SessionSnapshot): void {
    if (state.version !== STATE_VERSION) {
      throw new AskbackError('invalid_request', 'The gateway has been updated. Reload this page to go on.')
    }
    const next = stateFromJson(state)
    // The session was deleted and made again: what was kept belongs to the log that is gone.
    if (this.#state && this.#state.logId !== next.logId) this.#ahead.clear()
    this.#state = next
    this.#past = null
    this.live.clear()
    for (const event of live) this.live.add(event, this.#state)
    for (const seq of this.#ahead.keys()) if (seq <= this.#state.seq) this.#ahead.delete(seq)
    this.#advance()
  }

  /** Whether anything changed. */
  offer(events: readonly SessionEvent[]): boolean {
    if (!this.#state) return false
    for (const event of events) if (event.seq > this.#state.seq) this.#ahead.set(event.seq, event)
    return this.#advance()
  }

  offerLive(event: LiveEvent): boolean {
    const before = this.live.list
    this.live.add(event, this.#state)
    return this.live.list !== before
  }

  /** Where the next older page has to end. */
  lookBack(): number {
    const start = (this.#state?.seq ?? 0) + 1
    this.#past ??= { start, events: [] }
    return this.#past.start
  }

  /** A page of older events that ends right before `end`. Is shown as soon as it reaches further back than the state. */
  prepend(end: number, page: readonly SessionEvent[]): void {
    const [first] = page
    if (!this.#state || !first || this.#past?.start !== end) return
    const events = [...page, ...this.#past.events]
    this.#past = { start: first.seq, events }
    const longer = fold(beforeAll(this.#state, events), events, KEEP_ALL)
    if (longer.turns.length > this.#state.turns.length || first.seq === 1) {
      this.#state = keepIdentity(this.#state, longer)
    }
  }

  #advance(): boolean {
    if (!this.#state) return false
    const next: SessionEvent[] = []
    for (let seq = this.#state.seq + 1; ; seq++) {
      const event = this.#ahead.get(seq)
      if (!event) break
      this.#ahead.delete(seq)
      next.push(event)
    }
    if (next.length === 0) return false
    this.#state = fold(this.#state, next, KEEP_ALL)
    this.#past?.events.push(...next)
    this.live.finish(next)
    return true
  }
}

/** The state that these events are folded into, to make of them what is known at their end. */
function beforeAll(state: SessionState, events: readonly SessionEvent[]): SessionState {
  const { seq } = events[0]!
  const asked = new Set(
    events.flatMap((event) => (event.type === 'interaction_request' ? [event.interactionId] : [])),
  )
  // A page may begin between `interaction_pending` and its request.
  const opened = new Set(
    events.flatMap((event) =>
      event.type === 'interaction_pending' && event.pending ? [event.interactionId] : [],
    ),
  )
  const older = pendingOf(state).filter((item) => !asked.has(item.interactionId))
  const opensTurn = events.some(
    (event) => event.type === 'turn_started' && event.turnId === state.activeTurnId,
  )
  return {
    ...state,
    seq: seq - 1,
    activeTurnId: opensTurn ? null : state.activeTurnId,
    trimmed: seq > 1,
    turns: [],
    toolCalls: new Map(),
    interactions: new Map(older.map((item) => [item.interactionId, item])),
    pendingIds: new Set([...state.pendingIds].filter((id) => !opened.has(id))),
    supersededId: null,
    adrift: new Set(older.map((item) => item.interactionId)),
    callsAdrift: new Set(),
  }
}
