import {
  emptyState,
  fold,
  foldInto,
  stateFromJson,
  stateToJson,
  STATE_VERSION,
  type Json,
  type SessionEvent,
  type SessionState,
  type SessionStateJson,
} from '@askback/protocol'
import type { Append, AppendResult, Snapshot, Store } from '../store/store.js'
import { knownTexts, LOG_PAGE, readAfter, type Committed, type Head, type OwnAppend } from './committed.js'

/** A cold start reads at most about this many events after its snapshot, or four times as many as the snapshot holds things. */
const EVENTS_PER_SNAPSHOT = 250
/** The unit of `weight`. */
export const WEIGHT_BYTES = 200
const USUAL_EVENT_BYTES = 500
const WRITTEN: AppendResult = { ok: true }
/** One for all sessions without an append. */
const ALL_WRITTEN = Promise.resolve(WRITTEN)

/**
 * The speculative state, on which commands are decided. Own appends are folded in when they are sent, before the store confirms them, so
 * that several can share a commit. Nothing outside of the desk gets this state; `Committed` publishes events when they are durable. When
 * an append fails, or another process appended in between, the state becomes `stale`: it is dropped and built again from the log.
 */
export class Speculative {
  readonly state: SessionState
  readonly committed: Committed
  stale = false
  /** Since the eviction pointer last passed. */
  used = false
  /** Index in the cache's ring. */
  ringIndex = 0
  /** The weight that the cache has counted for it. */
  weighed = 0
  /** The `at` of the last event in `state`. */
  #lastAt: number
  readonly #store: Store
  #underway = 0
  /** Moving average of the size of an event. */
  #eventBytes = USUAL_EVENT_BYTES
  #last: Promise<AppendResult> = ALL_WRITTEN
  #snapshotSeq: number

  constructor(store: Store, committed: Committed, { state, headAt, snapshotSeq }: LoadedState) {
    this.#store = store
    this.committed = committed
    this.state = state
    this.#lastAt = headAt
    this.#snapshotSeq = snapshotSeq
  }

  /** The next event of the log has no earlier `at`. */
  get lastAt(): number {
    return this.#lastAt
  }

  /**
   * Estimated memory, in units of `WEIGHT_BYTES`. Measuring it at every use would cost more than the use, so it is the number of
   * interactions, turns and calls times the average size of recent events.
   */
  get weight(): number {
    const { interactions, toolCalls, turns } = this.state
    const things = 1 + 4 * interactions.size + 10 * (toolCalls.size + turns.length)
    return Math.ceil(things * Math.max(1, this.#eventBytes / USUAL_EVENT_BYTES))
  }

  /** Whether there is no pending append. */
  get idle(): boolean {
    return this.#underway === 0
  }

  /** Folds durable events of other processes. The state becomes stale if they come before own pending appends. */
  follow(events: SessionEvent[]): void {
    for (const event of events) {
      if (event.seq !== this.state.seq + 1) {
        this.stale = true
        return
      }
      foldInto(this.state, [event])
      this.#lastAt = event.at
    }
  }

  /** Folds the events at once and appends them. `own` learns when they are durable, in the order of the log. */
  append(
    own: OwnAppend,
    { kv, fence, lockOwner }: Pick<Append, 'kv' | 'fence' | 'lockOwner'>,
  ): Promise<AppendResult> {
    const { events, texts } = own
    const { sessionId, seq: expectedSeq } = this.state
    foldInto(this.state, events)
    this.committed.expect(own, this.state.logId)
    this.#lastAt = events[events.length - 1]!.at
    this.#underway++
    const sending = this.#send({ sessionId, expectedSeq, events, texts, kv, fence, lockOwner })
    this.#measure(events)
    this.#last = sending.then(
      (result) => {
        this.#underway--
        // A read may have shown its events before the reply came.
        if (result.ok || own.outcome === 'committed') {
          this.committed.confirm(own)
          return WRITTEN
        }
        this.stale = true
        this.committed.abandon(own)
        return result
      },
      (error: unknown) => {
        this.#underway--
        if (own.outcome === 'committed') return WRITTEN
        this.stale = true
        this.committed.doubt(own)
        throw error
      },
    )
    return this.#last
  }

  /** A store that keeps text has made the texts by now. */
  #measure(events: SessionEvent[]): void {
    const texts = knownTexts(events)
    if (!texts) return
    let bytes = 0
    for (const text of texts) bytes += text.length
    this.#eventBytes += (bytes / texts.length - this.#eventBytes) * 0.02
  }

  /**
   * On a shared store `expectedSeq` is not enough to pipeline appends: after a conflict, the events of another process can reach the `seq`
   * that the next own append expects. So an append is sent only after the one before it is durable.
   */
  #send(append: Append): Promise<AppendResult> {
    try {
      if (!this.#store.shared) return this.#store.append(append)
      const send = () => this.#store.append({ ...append, logId: this.state.logId })
      if (this.#underway === 1) return send()
      return this.#lastIsDurable().then((ok) => (ok ? send() : { ok: false, conflict: 'seq' }))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Resolves when no append is pending. */
  async settled(): Promise<void> {
    await this.#lastIsDurable()
  }

  /** Resolves with whether everything in the present `state` became durable. Results that depend on it are returned only after that. */
  async durable(): Promise<boolean> {
    return (this.#underway === 0 || (await this.#lastIsDurable())) && !this.stale
  }

  /** The cost of a snapshot grows with the state, so a large state is saved less often. */
  get snapshotIsDue(): boolean {
    const { seq, interactions, toolCalls } = this.state
    const interval = Math.max(EVENTS_PER_SNAPSHOT, 4 * (interactions.size + toolCalls.size))
    return this.idle && !this.stale && seq - this.#snapshotSeq >= interval
  }

  async saveSnapshot(): Promise<void> {
    const { seq, sessionId, logId } = this.state
    const { head } = this.committed
    // Only a durable state whose last event is known: loading it checks that event.
    if (head?.seq !== seq) return
    this.#snapshotSeq = seq
    const headAt = this.#lastAt
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- has only JSON; its type is an interface, which has no index signature
    const state = { ...stateToJson(this.state), headId: head.id, headAt } as unknown as Json
    await this.#store.saveSnapshot(sessionId, { seq, version: STATE_VERSION, state }, logId)
  }

  #lastIsDurable(): Promise<boolean> {
    return this.#last.then(
      ({ ok }) => ok,
      () => false,
    )
  }
}

export interface LoadedState {
  state: SessionState
  /** The id of the event at `state.seq`; `null` where there is no log. */
  headId: string | null
  /** The `at` of the same event, or 0. */
  headAt: number
  snapshotSeq: number
}

/**
 * The state of the log up to its end, or up to `until`. `null` if the log changed meanwhile: it was replaced, or the snapshot is newer
 * than `until`.
 */
export async function loadState(
  store: Store,
  sessionId: string,
  snapshot: Snapshot | null,
  until?: Head | null,
): Promise<LoadedState | null> {
  if (snapshot?.version === STATE_VERSION) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `saveSnapshot` makes snapshots of this version
    const { headId, headAt, ...json } = snapshot.state as unknown as SnapshotJson
    // Without the id, a snapshot of an erased log could not be recognised.
    if (headId !== undefined && headAt !== undefined) {
      const state = stateFromJson(json)
      if (until !== undefined && state.seq > (until?.seq ?? 0)) return null
      const loaded = await foldOn(store, { state, headId, headAt, snapshotSeq: state.seq }, until)
      if (loaded) return loaded
    }
  }
  return foldOn(store, { state: emptyState(sessionId), headId: null, headAt: 0, snapshotSeq: 0 }, until)
}

/** Snapshots from before these fields existed are not used. */
type SnapshotJson = SessionStateJson & { headId?: string; headAt?: number }

async function foldOn(store: Store, loaded: LoadedState, until?: Head | null): Promise<LoadedState | null> {
  const { state } = loaded
  const end = until === undefined ? Infinity : (until?.seq ?? 0)
  let { headId, headAt } = loaded
  while (state.seq < end) {
    const from = headId === null ? null : { seq: state.seq, id: headId }
    const page = await readAfter(store, state.sessionId, from)
    if (page === null) return null
    const wanted = page.filter(({ seq }) => seq <= end)
    foldInto(state, wanted)
    const last = wanted.at(-1)
    if (last) [headId, headAt] = [last.id, last.at]
    if (page.length < LOG_PAGE) break
  }
  if (until !== undefined && (state.seq !== end || headId !== (until?.id ?? null))) return null
  return { ...loaded, headId, headAt }
}

/** Folds the whole log from its first event, to check snapshots and indexes against it. */
export async function replay(store: Store, sessionId: string): Promise<SessionState> {
  let state = emptyState(sessionId)
  for (;;) {
    const page = await store.read({ sessionId, after: state.seq, limit: LOG_PAGE })
    state = fold(state, page)
    if (page.length < LOG_PAGE) return state
  }
}
