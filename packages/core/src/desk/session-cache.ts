import { AskbackError, type SessionEvent } from '@askback/protocol'
import type { Clock } from '../clock.js'
import type { Store } from '../store/store.js'
import { Committed, type Advance, type CommittedPorts, type Follower, type Head } from './committed.js'
import { loadState, Speculative } from './speculative.js'

/** How many sessions one eviction examines, so that no caller waits for a hundred thousand. */
const MAX_EXAMINED = 100
const RETRY_MS = 1000
/** How long a read waits for the store, in milliseconds. */
const MAX_REFRESH_MS = 5000

interface Loading {
  log: Promise<Speculative>
  /** Durable events of other processes that arrived while the state was read. */
  arrived: SessionEvent[]
  /** The log was replaced while the state was read. */
  isOutdated: boolean
}

interface SessionCachePorts {
  store: Store
  clock: Clock
  /** Limit of the total weight of idle sessions. */
  memoryBudget: number
  /** Called after the state includes the events. */
  advanced(advance: Advance, foreign: SessionEvent[]): void
  gone(sessionId: string): void
  /** Whether this session has waiters, also if it is not in memory. */
  hasWaiters(sessionId: string): boolean
  /** Reads the log for the interactions that are waited for in this session. */
  recheckWaiters(sessionId: string): Promise<void>
  onError: (error: unknown) => void
}

/**
 * The sessions in memory. There is a `Committed` for each session that is loaded or followed. The states (`Speculative`) of idle sessions
 * are evicted when the memory budget is used up.
 */
export class SessionCache {
  readonly #ports: SessionCachePorts
  readonly #committedPorts: CommittedPorts
  readonly #committed = new Map<string, Committed>()
  readonly #loaded = new Map<string, Speculative>()
  /** The loaded sessions in a ring, for eviction. */
  readonly #ring: Speculative[] = []
  /** Pointer of the CLOCK eviction: a session that was used since the pointer last passed stays. An LRU list costs more per use. */
  #pointer = 0
  readonly #loading = new Map<string, Loading>()
  /** Sessions that must not be evicted, with the number of holders. */
  readonly #held = new Map<string, number>()
  /** Total weight of the loaded sessions, as last counted. */
  #weight = 0
  /** Sessions whose log or waiters could not be read. Retried until it succeeds. */
  readonly #failed = new Set<string>()
  /** Sessions whose last read of the log failed. */
  readonly #unread = new Set<string>()
  #disarmRetry: (() => void) | null = null
  /** When the last successful comparison of everything in memory with the store began. */
  comparedAt = 0
  #closed = false

  constructor(ports: SessionCachePorts) {
    this.#ports = ports
    const { store, clock, onError } = ports
    this.#committedPorts = {
      store,
      now: () => clock.now(),
      onError,
      advanced: (advance, foreign) => this.#advanced(advance, foreign),
      gone: (sessionId) => this.#gone(sessionId),
      idle: (committed) => this.#release(committed),
    }
  }

  get(sessionId: string): Speculative | Promise<Speculative> {
    const log = this.#loaded.get(sessionId)
    if (log && !log.stale) {
      log.used = true
      this.#weigh(log)
      return log
    }
    return (this.#loading.get(sessionId) ?? this.#startLoading(sessionId)).log
  }

  /** Whether its state is in memory. */
  has(sessionId: string): boolean {
    return this.#loaded.get(sessionId)?.stale === false
  }

  /** Keeps a session in memory until the returned function is called. */
  hold(sessionId: string): () => void {
    this.#held.set(sessionId, (this.#held.get(sessionId) ?? 0) + 1)
    return () => {
      const left = this.#held.get(sessionId)! - 1
      if (left > 0) this.#held.set(sessionId, left)
      else this.#held.delete(sessionId)
      this.#evict()
    }
  }

  /** Calls `follower` with every durable event after the returned head. `null` if there is no log. */
  async follow(sessionId: string, follower: Follower): Promise<{ head: Head; stop: () => void } | null> {
    let log = await this.get(sessionId)
    while (log.stale) log = await this.get(sessionId)
    const { committed } = log
    const { head } = committed
    if (!head) return null
    const unfollow = committed.follow(follower)
    const stop = () => {
      unfollow()
      this.#release(committed)
    }
    return { head, stop }
  }

  /** Something may have been appended: reads the log in the background. A failed read is retried. */
  hint(sessionId: string): void {
    this.refresh(sessionId).catch((error: unknown) => this.#closed || this.#ports.onError(error))
  }

  /** Reads what other processes appended. Rejects if that fails, and retries in the background. */
  async refresh(sessionId: string): Promise<void> {
    if (this.#closed) return
    const committed = this.#committed.get(sessionId)
    try {
      if (committed) await committed.pull()
      // Not in memory: nothing else would find out that what is waited for was settled.
      else if (this.#ports.hasWaiters(sessionId)) await this.#ports.recheckWaiters(sessionId)
      this.#unread.delete(sessionId)
    } catch (error) {
      this.#unread.add(sessionId)
      this.#retryLater(sessionId)
      throw error
    }
  }

  /** Reads what other processes appended to the sessions in memory. Failed reads are retried. */
  async refreshAll(): Promise<void> {
    const { onError } = this.#ports
    for (const sessionId of this.#committed.keys())
      await this.refresh(sessionId).catch((error: unknown) => this.#closed || onError(error))
  }

  /** Whether the event is of an own append. Its doorbell needs no read, because the reply has the outcome. */
  isOwn(sessionId: string, eventId: string): boolean {
    return this.#committed.get(sessionId)?.knows(eventId) ?? false
  }

  /**
   * Reads what other processes appended, unless the last read or comparison is younger than `maxAgeMs`. Rejects with `unavailable`
   * if the store does not answer in time.
   */
  async bringUpToDate(sessionId: string, maxAgeMs: number): Promise<void> {
    const { clock } = this.#ports
    const committed = this.#committed.get(sessionId)
    // A session that is not in memory is read anyway.
    if (!committed?.isKnown) return
    const currentAt = this.#unread.has(sessionId)
      ? committed.readAt
      : Math.max(committed.readAt, this.comparedAt)
    if (maxAgeMs > 0 && clock.now() - currentAt <= maxAgeMs) return
    let disarm = () => {}
    const late = new Promise<never>((_, reject) => {
      const error = new AskbackError(
        'unavailable',
        'The store does not answer, so the data here may be old. Try again.',
      )
      disarm = clock.alarm(clock.now() + MAX_REFRESH_MS, () => reject(error))
    })
    try {
      await Promise.race([this.refresh(sessionId), late])
    } finally {
      disarm()
    }
  }

  /** Whether this process knows the log up to that event. */
  reaches(sessionId: string, { logId, seq }: { logId: string; seq: number }): boolean {
    const head = this.#committed.get(sessionId)?.head
    return head?.logId === logId && head.seq >= seq
  }

  /** Drops the state: the session was erased, or may have been. */
  forget(sessionId: string): void {
    const log = this.#loaded.get(sessionId)
    // `Committed` stays until the next read, which notifies the listeners that the log was erased.
    if (log) log.stale = true
    const loading = this.#loading.get(sessionId)
    if (loading) loading.isOutdated = true
    this.hint(sessionId)
  }

  close(): void {
    this.#closed = true
    this.#disarmRetry?.()
    this.#failed.clear()
    for (const committed of this.#committed.values()) committed.close()
  }

  #startLoading(sessionId: string): Loading {
    const loading: Loading = {
      arrived: [],
      isOutdated: false,
      log: Promise.resolve().then(() => this.#load(sessionId, loading)),
    }
    this.#loading.set(sessionId, loading)
    return loading
  }

  async #load(sessionId: string, loading: Loading): Promise<Speculative> {
    const { store, clock } = this.#ports
    const committed = this.#committedOf(sessionId)
    try {
      // Wait for the pending appends of a stale state: the new state must include them.
      await this.#loaded.get(sessionId)?.settled()
      for (;;) {
        loading.isOutdated = false
        const wasKnown = committed.isKnown
        const readAt = clock.now()
        // In parallel, because each may take long on a remote database.
        const [snapshot] = await Promise.all([
          store.loadSnapshot(sessionId),
          wasKnown ? committed.pull() : undefined,
        ])
        loading.arrived = []
        const loaded = await loadState(store, sessionId, snapshot, wasKnown ? committed.head : undefined)
        if (loading.isOutdated || !loaded) continue
        const { state, headId } = loaded
        if (!wasKnown)
          committed.begin(headId === null ? null : { logId: state.logId, seq: state.seq, id: headId }, readAt)
        const log = new Speculative(store, committed, loaded)
        log.follow(loading.arrived)
        if (log.stale) continue
        this.#loading.delete(sessionId)
        this.#add(log)
        if (!wasKnown && committed.wasHinted) await this.refresh(sessionId)
        if (!wasKnown && store.shared) void this.#recheck(sessionId)
        return log
      }
    } catch (error) {
      if (this.#loading.get(sessionId) === loading) this.#loading.delete(sessionId)
      this.#release(committed)
      throw error
    }
  }

  #committedOf(sessionId: string): Committed {
    const known = this.#committed.get(sessionId)
    if (known) return known
    const committed = new Committed(sessionId, this.#committedPorts)
    this.#committed.set(sessionId, committed)
    return committed
  }

  #advanced(advance: Advance, foreign: SessionEvent[]): void {
    const { sessionId } = advance
    if (foreign.length > 0) {
      this.#loaded.get(sessionId)?.follow(foreign)
      const loading = this.#loading.get(sessionId)
      if (loading) for (const event of foreign) loading.arrived.push(event)
    }
    if (this.#closed) return
    this.#ports.advanced(advance, foreign)
    if (foreign.some(settles)) void this.#recheck(sessionId)
  }

  #gone(sessionId: string): void {
    const log = this.#loaded.get(sessionId)
    if (log) log.stale = true
    if (log?.idle) this.#drop(log)
    const loading = this.#loading.get(sessionId)
    if (loading) loading.isOutdated = true
    if (this.#closed) return
    this.#ports.gone(sessionId)
    void this.#recheck(sessionId)
  }

  async #recheck(sessionId: string): Promise<void> {
    if (this.#closed || !this.#ports.hasWaiters(sessionId)) return
    await this.#ports.recheckWaiters(sessionId).catch((error: unknown) => {
      if (this.#closed) return
      this.#ports.onError(error)
      this.#retryLater(sessionId)
    })
  }

  #retryLater(sessionId: string): void {
    if (this.#closed) return
    this.#failed.add(sessionId)
    const { clock } = this.#ports
    this.#disarmRetry ??= clock.alarm(clock.now() + RETRY_MS, () => {
      this.#disarmRetry = null
      const failed = [...this.#failed]
      this.#failed.clear()
      for (const id of failed) {
        this.hint(id)
        void this.#recheck(id)
      }
    })
  }

  #add(log: Speculative): void {
    const { sessionId } = log.state
    const before = this.#loaded.get(sessionId)
    if (before) this.#remove(before)
    this.#loaded.set(sessionId, log)
    log.ringIndex = this.#ring.push(log) - 1
    this.#weigh(log)
  }

  #drop(log: Speculative): void {
    this.#remove(log)
    this.#release(log.committed)
  }

  /** Moves the last session of the ring to its index. */
  #remove(log: Speculative): void {
    this.#loaded.delete(log.state.sessionId)
    const last = this.#ring.pop()!
    if (last !== log) {
      this.#ring[log.ringIndex] = last
      last.ringIndex = log.ringIndex
    }
    this.#weight -= log.weighed
  }

  /** Drops the `Committed` of a session if nothing needs it. */
  #release(committed: Committed): void {
    const { sessionId } = committed
    const isNeeded =
      committed.isFollowed ||
      committed.hasUnknownAppends ||
      // Otherwise its successor would publish the events of the running read a second time.
      committed.isPulling ||
      this.#loaded.has(sessionId) ||
      this.#loading.has(sessionId)
    if (!isNeeded && this.#committed.get(sessionId) === committed) this.#committed.delete(sessionId)
  }

  #weigh(log: Speculative): void {
    const { weight } = log
    this.#weight += weight - log.weighed
    log.weighed = weight
    this.#evict(log)
  }

  /** Never evicts `wanted`, the session that the caller is about to use: it would be loaded again and again. */
  #evict(wanted?: Speculative): void {
    const { memoryBudget } = this.#ports
    for (let examined = 0; this.#weight > memoryBudget && examined < MAX_EXAMINED; examined++) {
      if (this.#pointer >= this.#ring.length) this.#pointer = 0
      const log = this.#ring[this.#pointer++]!
      if (log === wanted || !log.idle || this.#held.has(log.state.sessionId)) continue
      else if (log.used) log.used = false
      else {
        // A caller that still has a reference must load it again.
        log.stale = true
        this.#drop(log)
      }
    }
  }
}

/** Whether an event can end a wait. */
function settles({ type }: SessionEvent): boolean {
  return type === 'interaction_response'
}
