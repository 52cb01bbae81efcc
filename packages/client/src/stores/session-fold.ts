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

/** What is on the screen stays there: only a new snapshot removes turns. */
const KEEP_ALL = { turnsKept: Number.POSITIVE_INFINITY }

/**
 * The state of one session on this client. Events may be added in any order and more than once: those that come early are
 * buffered until the events before them are there, those that are known are dropped.
 *
 * To show older turns, the client fetches older pages of the log and folds all events again from the oldest page on. Only after
 * the first such request it remembers the events themselves.
 */
export class SessionFold {
  readonly live = new LiveBlocks()
  #state: SessionState | null = null
  /** Events that came early, by `seq`. */
  readonly #early = new Map<number, SessionEvent>()
  /** All events from `start` on; `null` until older pages are requested. */
  #history: { start: number; events: SessionEvent[] } | null = null

  get state(): SessionState | null {
    return this.#state
  }

  /** Whether events are missing before some that have come. */
  get hasGap(): boolean {
    return this.#early.size > 0
  }

  /** Replaces the state. Throws `invalid_request` if the gateway is of another version than this page. */
  load({ state, live }: SessionSnapshot): void {
    if (state.version !== STATE_VERSION) {
      throw new AskbackError('invalid_request', 'The gateway has been updated. Reload this page to go on.')
    }
    const next = stateFromJson(state)
    // The session was deleted and created again: the buffered events belong to the log that is gone.
    if (this.#state && this.#state.logId !== next.logId) this.#early.clear()
    this.#state = next
    this.#history = null
    this.live.clear()
    for (const event of live) this.live.add(event, this.#state)
    for (const seq of this.#early.keys()) if (seq <= this.#state.seq) this.#early.delete(seq)
    this.#advance()
  }

  /** Returns whether the state has changed. */
  add(events: readonly SessionEvent[]): boolean {
    if (!this.#state) return false
    for (const event of events) if (event.seq > this.#state.seq) this.#early.set(event.seq, event)
    return this.#advance()
  }

  /** Returns whether the unfinished blocks have changed. */
  addLive(event: LiveEvent): boolean {
    const before = this.live.list
    this.live.add(event, this.#state)
    return this.live.list !== before
  }

  /** The `seq` of the oldest event that is remembered: the next older page ends before it. */
  startOfHistory(): number {
    const start = (this.#state?.seq ?? 0) + 1
    this.#history ??= { start, events: [] }
    return this.#history.start
  }

  /** Adds a page of older events that ends right before `end`. The state changes once the pages reach further back than it. */
  prepend(end: number, page: readonly SessionEvent[]): void {
    const [first] = page
    if (!this.#state || !first || this.#history?.start !== end) return
    const events = [...page, ...this.#history.events]
    this.#history = { start: first.seq, events }
    const longer = fold(stateBefore(this.#state, events), events, KEEP_ALL)
    if (longer.turns.length > this.#state.turns.length || first.seq === 1) {
      this.#state = keepIdentity(this.#state, longer)
    }
  }

  #advance(): boolean {
    if (!this.#state) return false
    const next: SessionEvent[] = []
    for (let seq = this.#state.seq + 1; ; seq++) {
      const event = this.#early.get(seq)
      if (!event) break
      this.#early.delete(seq)
      next.push(event)
    }
    if (next.length === 0) return false
    this.#state = fold(this.#state, next, KEEP_ALL)
    this.#history?.events.push(...next)
    this.live.finish(next)
    return true
  }
}

/**
 * The state before `events`, which end where `state` does: folding the events into it gives `state` with more turns. What is
 * pending and was opened before these events is taken from `state`.
 */
function stateBefore(state: SessionState, events: readonly SessionEvent[]): SessionState {
  const { seq } = events[0]!
  const requested = new Set(
    events.flatMap((event) => (event.type === 'interaction_request' ? [event.interactionId] : [])),
  )
  // A page may begin between `interaction_pending` and its request, so the two are looked for separately.
  const opened = new Set(
    events.flatMap((event) =>
      event.type === 'interaction_pending' && event.pending ? [event.interactionId] : [],
    ),
  )
  const older = pendingOf(state).filter((item) => !requested.has(item.interactionId))
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
    pendingOutsideWindow: new Set(older.map((item) => item.interactionId)),
    callsOutsideWindow: new Set(),
  }
}

/**
 * `next` was folded from the events of `before` and some older ones. Every turn, tool call and interaction that is equal in both
 * is taken from `before`, so that the layout, which compares by identity, does not lay it out again.
 */
function keepIdentity(before: SessionState, next: SessionState): SessionState {
  const turns = new Map(before.turns.map((turn) => [turn.key, turn]))
  return {
    ...next,
    turns: next.turns.map((turn) => sameOrNext(turns.get(turn.key), turn)),
    toolCalls: sameValues(before.toolCalls, next.toolCalls),
    interactions: sameValues(before.interactions, next.interactions),
  }
}

function sameValues<T>(before: ReadonlyMap<string, T>, next: ReadonlyMap<string, T>): Map<string, T> {
  return new Map([...next].map(([key, value]) => [key, sameOrNext(before.get(key), value)]))
}

function sameOrNext<T>(before: T | undefined, next: T): T {
  return before !== undefined && isSame(before, next, COMPARED_DEPTH) ? before : next
}

/** A turn, its items, one item. What lies deeper comes from the event itself, and is the same object. */
const COMPARED_DEPTH = 3

function isSame(one: unknown, other: unknown, depth: number): boolean {
  if (Object.is(one, other)) return true
  if (depth === 0 || typeof one !== 'object' || typeof other !== 'object' || !one || !other) return false
  const names = Object.keys(one)
  if (names.length !== Object.keys(other).length) return false
  return names.every(
    (name) =>
      Object.hasOwn(other, name) &&
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a name of both objects
      isSame(one[name as keyof typeof one], other[name as keyof typeof other], depth - 1),
  )
}
