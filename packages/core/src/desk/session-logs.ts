import type { Store } from '../store/store.js'
import { SessionLog } from './session-log.js'

/** At once: with a hundred thousand of them, nobody waits until all were looked at. */
const MOST_LOOKS = 100

interface Loading {
  log: Promise<SessionLog>
  /** Up to where others have appended meanwhile, as far as is known. */
  heard: number
}

/** The sessions in memory: those in use, and as many of the last ones as there is room for. */
export class SessionLogs {
  readonly #store: Store
  readonly #room: number
  readonly #onLoad: (sessionId: string) => void
  readonly #loaded = new Map<string, SessionLog>()
  /** The same in a ring. */
  readonly #ring: SessionLog[] = []
  /** Goes round; what was used since it last came by stays. To put each behind all others at every use would cost more. */
  #hand = 0
  readonly #loading = new Map<string, Loading>()
  /** How often each is held. */
  readonly #held = new Map<string, number>()
  /** What all that are loaded take, as they were last weighed. */
  #taken = 0

  constructor(store: Store, room: number, onLoad: (sessionId: string) => void) {
    this.#store = store
    this.#room = room
    this.#onLoad = onLoad
  }

  get(sessionId: string): SessionLog | Promise<SessionLog> {
    const log = this.#loaded.get(sessionId)
    if (log && !log.stale) {
      log.used = true
      this.#weigh(log)
      return log
    }
    return (this.#loading.get(sessionId) ?? this.#load(sessionId)).log
  }

  /** Keeps a session in memory until it is let go. */
  hold(sessionId: string): () => void {
    this.#held.set(sessionId, (this.#held.get(sessionId) ?? 0) + 1)
    return () => {
      const left = this.#held.get(sessionId)! - 1
      if (left > 0) this.#held.set(sessionId, left)
      else this.#held.delete(sessionId)
      this.#evict()
    }
  }

  /** Only if it is in memory. */
  peek(sessionId: string): SessionLog | undefined {
    const log = this.#loaded.get(sessionId)
    return log?.stale ? undefined : log
  }

  /** Others have appended up to there. A session that is being read may have been read before that. */
  heard(sessionId: string, seq: number): void {
    const loading = this.#loading.get(sessionId)
    if (loading) loading.heard = Math.max(loading.heard, seq)
  }

  forget(sessionId: string): void {
    const log = this.#loaded.get(sessionId)
    if (log) log.stale = true
    // With appends under way it stays, so that the next load waits for them.
    if (log?.idle) this.#drop(log)
    this.#loading.delete(sessionId)
  }

  #load(sessionId: string): Loading {
    const loading: Loading = { heard: 0, log: Promise.resolve().then(() => this.#read(sessionId, loading)) }
    this.#loading.set(sessionId, loading)
    return loading
  }

  async #read(sessionId: string, loading: Loading): Promise<SessionLog> {
    try {
      // Appends of the one that has gone stale may still be under way: what they write must be read.
      await this.#loaded.get(sessionId)?.settled()
      const log = await SessionLog.load(this.#store, sessionId)
      // Once for each time that more was heard of: a session made anew may never get that far.
      let heard = 0
      while (heard < loading.heard && log.state.seq < loading.heard) {
        heard = loading.heard
        await log.catchUp()
      }
      // Forgotten while it was read: whoever waits for it must come back.
      if (this.#loading.get(sessionId) !== loading) log.stale = true
      else {
        this.#loading.delete(sessionId)
        this.#keep(log)
        this.#onLoad(sessionId)
      }
      return log
    } catch (error) {
      if (this.#loading.get(sessionId) === loading) this.#loading.delete(sessionId)
      throw error
    }
  }

  #keep(log: SessionLog): void {
    const { sessionId } = log.state
    const before = this.#loaded.get(sessionId)
    if (before) this.#drop(before)
    this.#loaded.set(sessionId, log)
    log.place = this.#ring.push(log) - 1
    this.#weigh(log)
  }

  /** Its place in the ring goes to the last one. */
  #drop(log: SessionLog): void {
    this.#loaded.delete(log.state.sessionId)
    const last = this.#ring.pop()!
    if (last !== log) {
      this.#ring[log.place] = last
      last.place = log.place
    }
    this.#taken -= log.weighed
  }

  #weigh(log: SessionLog): void {
    const { weight } = log
    this.#taken += weight - log.weighed
    log.weighed = weight
    this.#evict(log)
  }

  /** Not the one that was asked for just now: when all others are in use, whoever waits for it would never get it. */
  #evict(wanted?: SessionLog): void {
    for (let looks = 0; this.#taken > this.#room && looks < MOST_LOOKS; looks++) {
      if (this.#hand >= this.#ring.length) this.#hand = 0
      // Also past the newest, which takes the place of one that leaves.
      const log = this.#ring[this.#hand++]!
      if (log === wanted || !log.idle || this.#held.has(log.state.sessionId)) continue
      else if (log.used) log.used = false
      else {
        // Whoever still holds it must come back for the one that is loaded next.
        log.stale = true
        this.#drop(log)
      }
    }
  }
}
