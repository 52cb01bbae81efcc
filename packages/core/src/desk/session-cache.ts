import { AskbackError, type SessionEvent } from '@askback/protocol'
import type { Clock } from '../clock.js'
import type { Store } from '../store/store.js'
import { Committed, type Advance, type Follower, type Head } from './committed.js'
import { loadState, Speculative } from './speculative.js'

/** How many sessions one eviction looks at: with a hundred thousand in memory, nobody waits until all were looked at. */
const MAX_LOOKS = 100
const RETRY_MS = 1000
/** How long a reader waits for the store. */
const MAX_REFRESH_MS = 5000

interface Loading {
  log: Promise<Speculative>
  /** Durable events of others that came while the state was read. */
  arrived: SessionEvent[]
  /** The log was replaced while the state was read. */
  isOutdated: boolean
}

interface SessionCachePorts {
  store: Store
  clock: Clock
  /** How much idle sessions may weigh together. */
  memoryBudget: number
  /** After the state has been brought up to date. */
  advanced(advance: Advance, foreign: SessionEvent[]): void
  gone(sessionId: string): void
  /** Whether somebody waits in this session, in memory or not. */
  hasWaiters(sessionId: string): boolean
  /** Looks at the log for what waiters of this session wait for. */
  recheckWaiters(sessionId: string): Promise<void>
  onError: (error: unknown) => void
}

/**
 * The sessions in memory. A `Committed` exists for each session whose state is loaded or that somebody follows; the state
 * (`Speculative`) of sessions in which nothing happens is evicted when the budget is used up.
 */
export class SessionCache {
  readonly #ports: SessionCachePorts
  readonly #committed = new Map<string, Committed>()
  readonly #loaded = new Map<string, Speculative>()
  /** The same in a ring. */
  readonly #ring: Speculative[] = []
  /** CLOCK eviction: what was used since the pointer last passed stays. An LRU list would cost more at every use. */
  #pointer = 0
  readonly #loading = new Map<string, Loading>()
  /** How often each is held in memory. */
  readonly #held = new Map<string, number>()
  /** What all that are loaded weigh, as last counted. */
  #weight = 0
  /** Sessions whose log or waiters could not be looked at: they are looked at again until that succeeds. */
  readonly #failed = new Set<string>()
  /** Sessions whose log could not be read when it should have been, and has not been since. */
  readonly #unread = new Set<string>()
  #disarmRetry: (() => void) | null = null
  /** When the last comparison of everything in memory with the store began that succeeded. */
  comparedAt = 0
  #closed = false

  constructor(ports: SessionCachePorts) {
    this.#ports = ports
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

  /** Tells `follower` every durable event after the returned head. `null` if there is no log. */
  async follow(sessionId: string, follower: Follower): Promise<{ head: Head; stop: () => void } | null> {
    let log = await this.get(sessionId)
    while (log.stale) log = await this.get(sessionId)
    const { committed } = log
    const { head } = committed
    if (!head) return null
    committed.followers.add(follower)
    const stop = () => {
      committed.followers.delete(follower)
      this.#release(committed)
    }
    return { head, stop }
  }

  /** Something may have happened in this session. What fails is tried again. */
  hint(sessionId: string): void {
    this.refresh(sessionId).catch((error: unknown) => this.#closed || this.#ports.onError(error))
  }

  /** Reads what others have appended. Rejects if that failed; it is tried again all the same. */
  async refresh(sessionId: string): Promise<void> {
    if (this.#closed) return
    const committed = this.#committed.get(sessionId)
    try {
      if (committed) await committed.pull()
      // Not in memory, so that nobody here would hear of it.
      else if (this.#ports.hasWaiters(sessionId)) await this.#ports.recheckWaiters(sessionId)
      this.#unread.delete(sessionId)
    } catch (error) {
      this.#unread.add(sessionId)
      this.#tryAgain(sessionId)
      throw error
    }
  }

  /** The same for all sessions in memory. What fails is tried again. */
  async refreshAll(): Promise<void> {
    const { onError } = this.#ports
    for (const sessionId of this.#committed.keys())
      await this.refresh(sessionId).catch((error: unknown) => this.#closed || onError(error))
  }

  /** The doorbell of an own append needs no look: its reply tells more. */
  isOwn(sessionId: string, eventId: string): boolean {
    return this.#committed.get(sessionId)?.knows(eventId) ?? false
  }

  /**
   * Reads what others have appended, unless nothing older than `maxAgeMs` can have been missed. Rejects if the store does not
   * answer in time: who reads would rather know that than wait.
   */
  async bringUpToDate(sessionId: string, maxAgeMs: number): Promise<void> {
    const { clock } = this.#ports
    const committed = this.#committed.get(sessionId)
    // What is not in memory is read anyway.
    if (!committed?.isKnown) return
    const currentAt = this.#unread.has(sessionId)
      ? committed.readAt
      : Math.max(committed.readAt, this.comparedAt)
    if (maxAgeMs > 0 && clock.now() - currentAt <= maxAgeMs) return
    let disarm = () => {}
    const late = new Promise<never>((_, reject) => {
      const error = new AskbackError('unavailable', 'The store does not answer, so what is known may be old.')
      disarm = clock.alarm(clock.now() + MAX_REFRESH_MS, () => reject(error))
    })
    try {
      await Promise.race([this.refresh(sessionId), late])
    } finally {
      disarm()
    }
  }

  /** Whether that much of that log is known here. */
  reaches(sessionId: string, { logId, seq }: { logId: string; seq: number }): boolean {
    const head = this.#committed.get(sessionId)?.head
    return head?.logId === logId && head.seq >= seq
  }

  /** Drops the state: the session was erased, or may have been. */
  forget(sessionId: string): void {
    const log = this.#loaded.get(sessionId)
    // It stays until the next look at the store, so that whoever listens is told that the log is gone.
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
      // Appends of a stale state may still be under way: what they write must be read.
      await this.#loaded.get(sessionId)?.settled()
      for (;;) {
        loading.isOutdated = false
        const wasKnown = committed.isKnown
        const readAt = clock.now()
        // Together, as each may take long on a database that is far away.
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
        this.#keep(log)
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
    const { store, clock, onError } = this.#ports
    const committed = new Committed(sessionId, {
      store,
      now: () => clock.now(),
      onError,
      advanced: (advance, foreign) => this.#advanced(advance, foreign),
      gone: () => this.#gone(sessionId),
      idle: () => this.#release(committed),
    })
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
      this.#tryAgain(sessionId)
    })
  }

  #tryAgain(sessionId: string): void {
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

  #keep(log: Speculative): void {
    const { sessionId } = log.state
    const before = this.#loaded.get(sessionId)
    if (before) this.#remove(before)
    this.#loaded.set(sessionId, log)
    log.place = this.#ring.push(log) - 1
    this.#weigh(log)
  }

  #drop(log: Speculative): void {
    this.#remove(log)
    this.#release(log.committed)
  }

  /** The last one of the ring gets its place. */
  #remove(log: Speculative): void {
    this.#loaded.delete(log.state.sessionId)
    const last = this.#ring.pop()!
    if (last !== log) {
      this.#ring[log.place] = last
      last.place = log.place
    }
    this.#weight -= log.weighed
  }

  /** Forgets the head of a session that nobody needs. */
  #release(committed: Committed): void {
    const { sessionId, followers } = committed
    const isNeeded =
      followers.size > 0 ||
      committed.hasDoubts ||
      // What it reads would be told a second time by the one that takes its place.
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

  /** Never evicts `wanted`, which was asked for just now: its caller would load it for ever. */
  #evict(wanted?: Speculative): void {
    const { memoryBudget } = this.#ports
    for (let looks = 0; this.#weight > memoryBudget && looks < MAX_LOOKS; looks++) {
      if (this.#pointer >= this.#ring.length) this.#pointer = 0
      const log = this.#ring[this.#pointer++]!
      if (log === wanted || !log.idle || this.#held.has(log.state.sessionId)) continue
      else if (log.used) log.used = false
      else {
        // Whoever still has a reference to it must load it again.
        log.stale = true
        this.#drop(log)
      }
    }
  }
}

/** Whether an event can end somebody's wait. */
function settles({ type }: SessionEvent): boolean {
  return type === 'interaction_response'
}
