import {
  emptyState,
  fold,
  foldInto,
  stateFromJson,
  stateToJson,
  STATE_VERSION,
  type SessionEvent,
  type SessionState,
  type SessionStateJson,
} from '@askback/protocol'
import type { Append, AppendResult, Store } from '../store/store.js'

/** A cold start reads at most about this many events after its snapshot, or four times as many as the snapshot holds things. */
const EVENTS_PER_SNAPSHOT = 250
const PAGE = 1000

/**
 * One session in memory. Commands are decided on `state`, which runs ahead of what is durable: appends that are under
 * way are folded in already, so that they can share a commit. If one of them fails, so do those decided on top of it;
 * then the log is `stale`, and is loaded anew.
 */
export class SessionLog {
  readonly state: SessionState
  stale = false
  /** Since it was last looked at whether it should leave memory. */
  used = false
  /** Among those in memory. */
  place = 0
  /** What it weighed when that was last counted. */
  weighed = 0
  readonly #store: Store
  #underway = 0
  #last: Promise<AppendResult> = Promise.resolve({ ok: true })
  #snapshotSeq: number
  /** Of the event at `state.seq`, where it is known. */
  #lastId: string | null = null

  private constructor(store: Store, state: SessionState, snapshotSeq: number) {
    this.#store = store
    this.state = state
    this.#snapshotSeq = snapshotSeq
  }

  static async load(store: Store, sessionId: string): Promise<SessionLog> {
    const snapshot = await store.loadSnapshot(sessionId)
    const usable = snapshot?.version === STATE_VERSION ? snapshot : null
    const state = usable ? stateFromJson(usable.state as unknown as SessionStateJson) : emptyState(sessionId)
    const log = new SessionLog(store, state, state.seq)
    await log.catchUp()
    return log
  }

  /**
   * Roughly what it takes in memory, in some 200 bytes. A turn holds what was said in it and a tool call what came of it, at
   * their usual size: to measure them at every use would cost more than the use.
   */
  get weight(): number {
    const { interactions, toolCalls, turns } = this.state
    return 1 + 4 * interactions.size + 10 * (toolCalls.size + turns.length)
  }

  get idle(): boolean {
    return this.#underway === 0
  }

  /** Folds what others have appended. Returns it. Finds out if the session was made anew: then it is stale. */
  async catchUp(): Promise<SessionEvent[]> {
    const { sessionId } = this.state
    const caught: SessionEvent[] = []
    for (;;) {
      const { seq } = this.state
      const known = this.#lastId
      const checks = this.#store.shared && this.idle && seq > 0
      const page = await this.#store.read({ sessionId, after: checks ? seq - 1 : seq, limit: PAGE })
      if (checks && !this.#continues(known, page[0])) return caught
      // While it was read, an append of our own may have folded the same events.
      const fresh = page.filter((event) => event.seq > this.state.seq)
      foldInto(this.state, fresh)
      this.#lastId = fresh.at(-1)?.id ?? this.#lastId ?? (checks ? page[0]!.id : null)
      for (const event of fresh) caught.push(event)
      if (page.length < PAGE) return caught
    }
  }

  /** Folds the events at once and appends them; `committed` runs when they are durable, in the order of the log. */
  append(
    { events, texts, kv, fence }: Pick<Append, 'events' | 'texts' | 'kv' | 'fence'>,
    committed: () => void,
  ): Promise<AppendResult> {
    const { sessionId, seq: expectedSeq } = this.state
    foldInto(this.state, events)
    this.#lastId = events.at(-1)!.id
    this.#underway++
    this.#last = this.#send({ sessionId, expectedSeq, events, texts, kv, fence }).then(
      (result) => {
        this.#underway--
        if (result.ok) committed()
        else this.stale = true
        return result
      },
      (error: unknown) => {
        this.#underway--
        this.stale = true
        throw error
      },
    )
    return this.#last
  }

  /**
   * Where others append too, `expectedSeq` does not tell whose events were there before: after a conflict theirs can
   * reach the very seq that our next append expects. So that one goes only when the one before it is there.
   */
  #send(append: Append): Promise<AppendResult> {
    if (!this.#store.shared) return this.#store.append(append)
    const send = () => this.#store.append({ ...append, logId: this.state.logId })
    if (this.#underway === 1) return send()
    return this.#lastIsThere().then((ok) => (ok ? send() : { ok: false, conflict: 'seq' }))
  }

  /** Whether the store holds just this: nothing beyond it, and no other log under the same id. */
  async isCurrent(): Promise<boolean> {
    // An append of our own on top of it proves that, if it succeeds.
    if (!this.idle) return this.durable()
    const { sessionId, seq } = this.state
    const [last, next] = await this.#store.read({ sessionId, after: Math.max(seq - 1, 0), limit: 2 })
    if (this.state.seq !== seq) return false
    if (seq === 0) return last === undefined
    return this.#continues(this.#lastId, last) && next === undefined
  }

  /** Whether the store has at our last place what we know to be there, if we do. */
  #continues(known: string | null, last: SessionEvent | undefined): boolean {
    if (!last || (known !== null && last.id !== known)) this.stale = true
    return !this.stale
  }

  /** Resolves when no append is under way any more. */
  async settled(): Promise<void> {
    await this.#lastIsThere()
  }

  /** Whether everything that `state` holds at this moment becomes durable: what rests on it may be told only then. */
  async durable(): Promise<boolean> {
    return (this.#underway === 0 || (await this.#lastIsThere())) && !this.stale
  }

  /** A snapshot costs as much as it holds, so one that holds much is made less often. */
  get snapshotIsDue(): boolean {
    const { seq, interactions, toolCalls } = this.state
    const interval = Math.max(EVENTS_PER_SNAPSHOT, 4 * (interactions.size + toolCalls.size))
    return this.idle && !this.stale && seq - this.#snapshotSeq >= interval
  }

  async saveSnapshot(): Promise<void> {
    const { seq, sessionId, logId } = this.state
    this.#snapshotSeq = seq
    const state = stateToJson(this.state) as unknown as Parameters<Store['saveSnapshot']>[1]['state']
    await this.#store.saveSnapshot(sessionId, { seq, version: STATE_VERSION, state }, logId)
  }

  #lastIsThere(): Promise<boolean> {
    return this.#last.then(
      ({ ok }) => ok,
      () => false,
    )
  }
}

/** The whole log folded from its first event, as a check on everything that is kept beside it. */
export async function replay(store: Store, sessionId: string): Promise<SessionState> {
  let state = emptyState(sessionId)
  for (;;) {
    const page = await store.read({ sessionId, after: state.seq, limit: PAGE })
    state = fold(state, page)
    if (page.length < PAGE) return state
  }
}
