import { AskbackError } from '@askback/protocol'
import { erasureKey } from '../decide/control.js'
import { sessionRulesPrefix } from '../decide/rules.js'
import { optional } from '../optional.js'
import { Retry } from '../retry.js'
import type { News } from '../store/store.js'
import type { Engine } from './engine.js'

const SWEEP_MS = 3_600_000
const RETRY_MS = 1000
const PAGE = 500
/** Ids only. */
const NEWS_PAGE = 10_000

export interface MaintenanceOptions {
  /** Sessions that were last written to longer ago than this are deleted. */
  retentionMs: number | null
  /** How often a store that others write to is looked at for doorbells that were lost. */
  repairMs: number
  /** Called last when the desk starts. Like the rest of the start it is retried until it succeeds. */
  onStart: () => Promise<void>
}

/** What a desk does in the background: takes up where the last process stopped, repairs, and forgets in time. */
export class Maintenance {
  readonly #engine: Engine
  readonly #options: MaintenanceOptions
  readonly #retry: Retry
  readonly #disarm = new Map<string, () => void>()
  /** Up to where it has heard of what others write, since it began to listen. */
  #cursor: string | null = null

  constructor(engine: Engine, options: MaintenanceOptions) {
    this.#engine = engine
    this.#options = options
    this.#retry = new Retry(engine.options.clock, engine.options.onError)
  }

  /** Tried again until it is done: nobody else would meet the deadlines of the last process. */
  start(): Promise<void> {
    return this.#retry.untilDone(() => this.#finishStart())
  }

  /** The second half of a deletion: its first half is durable, so that a crash or a failure in between only delays it. */
  async erase(sessionId: string): Promise<void> {
    try {
      await this.#erase(sessionId)
    } catch (error) {
      this.#at(RETRY_MS, `erase ${sessionId}`, () => this.erase(sessionId))
      throw error
    }
  }

  /** Deletes the sessions that nobody has written to for this long. */
  async sweep(retentionMs: number): Promise<void> {
    const { store, clock, onError } = this.#engine.options
    const updatedBefore = clock.now() - retentionMs
    let after: string | undefined
    do {
      const { items, next } = await store.sessions({ limit: PAGE, updatedBefore, ...optional({ after }) })
      for (const { id } of items) {
        // One that cannot be deleted keeps no other.
        await this.#forget(id, updatedBefore).catch((error: unknown) => this.#engine.closed || onError(error))
      }
      after = next ?? undefined
    } while (after !== undefined)
  }

  async #forget(sessionId: string, updatedBefore: number): Promise<void> {
    const session = await this.#engine.options.store.session(sessionId)
    // It may have been used while others were deleted.
    if ((session?.updatedAt ?? 0) >= updatedBefore) return
    await this.#end(sessionId)
    await this.erase(sessionId)
  }

  /** Finds what no doorbell told of. A session whose log cannot be read now is tried again by the cache. */
  async repair(): Promise<void> {
    const { onError, clock } = this.#engine.options
    const startedAt = clock.now()
    for (let news = await this.#news(); news.length > 0; news = await this.#news()) {
      for (const { sessionId, reaches } of news) {
        if (reaches && this.#engine.reaches(sessionId, reaches)) continue
        await this.#engine.refresh(sessionId).catch((error: unknown) => this.#engine.closed || onError(error))
      }
      this.#cursor = news.at(-1)!.cursor
      this.#engine.allSessions.hint()
    }
    this.#engine.compared(startedAt)
    await this.#keepDeadlines()
    await this.#finishErasures()
  }

  async #news(): Promise<News[]> {
    const { store } = this.#engine.options
    const query = { after: this.#cursor ?? '', limit: NEWS_PAGE }
    return store.news ? store.news(query) : store.changes(query)
  }

  /** Whoever opened it may be gone at its deadline. Where others write too, only those to come before the next looks. */
  async #keepDeadlines(): Promise<void> {
    const { store, clock } = this.#engine.options
    const before = store.shared ? { before: clock.now() + 2 * this.#options.repairMs } : undefined
    for (const { sessionId, interactionId, expiresAt } of await store.deadlines(before))
      this.#engine.deadlines.set(sessionId, interactionId, expiresAt)
  }

  stop(): void {
    this.#retry.end()
    for (const disarm of this.#disarm.values()) disarm()
    this.#disarm.clear()
  }

  async #finishStart(): Promise<void> {
    const { store, clock } = this.#engine.options
    const { repairMs, retentionMs, onStart } = this.#options
    if (store.shared && this.#cursor === null) {
      const startedAt = clock.now()
      this.#cursor = await store.head()
      this.#every('repair', repairMs, () => this.repair())
      // What is in memory already was read before the cursor, which passes over what came in between.
      this.#engine.allSessions.hint()
      await this.#engine.refreshAll()
      this.#engine.compared(startedAt)
    }
    await this.#keepDeadlines()
    await this.#finishErasures()
    if (retentionMs !== null) {
      await this.sweep(retentionMs)
      this.#every('sweep', SWEEP_MS, () => this.sweep(retentionMs))
    }
    await onStart()
  }

  async #erase(sessionId: string): Promise<void> {
    const { store } = this.#engine.options
    const marker = await store.kv.get(erasureKey(sessionId))
    // Without it somebody else has erased the session.
    if (!marker) return this.#engine.forget(sessionId)
    const logId = marker.value as string
    const rules = await store.kv.list(sessionRulesPrefix(sessionId))
    // With the old log still there, these are not the rules of a session made anew.
    const [first] = await store.read({ sessionId, limit: 1 })
    if (first?.id === logId) for (const rule of rules) await store.kv.put(rule.key, null, rule.version)
    try {
      await store.erase(sessionId, logId)
    } finally {
      // It may be gone even if that failed.
      this.#engine.forget(sessionId)
    }
    await store.kv.put(marker.key, null, marker.version)
  }

  /** What another process, or this one before a crash, has begun. */
  async #finishErasures(): Promise<void> {
    const prefix = erasureKey('')
    const markers = await this.#engine.options.store.kv.list(prefix)
    for (const { key } of markers) await this.erase(key.slice(prefix.length))
  }

  async #end(sessionId: string): Promise<void> {
    try {
      await this.#engine.run(sessionId, { type: 'end', via: 'policy' })
    } catch (error) {
      // Somebody else is deleting it.
      if (!(error instanceof AskbackError) || error.code !== 'not_found') throw error
    }
  }

  #every(name: string, periodMs: number, work: () => Promise<void>): void {
    this.#at(periodMs, name, () => work().finally(() => this.#every(name, periodMs, work)))
  }

  #at(delayMs: number, name: string, work: () => Promise<void>): void {
    const { clock, onError } = this.#engine.options
    if (this.#engine.closed) return
    this.#disarm.get(name)?.()
    const disarm = clock.alarm(clock.now() + delayMs, () => {
      this.#disarm.delete(name)
      // Closed in the middle of it: the next start takes up the rest.
      work().catch((error: unknown) => this.#engine.closed || onError(error))
    })
    this.#disarm.set(name, disarm)
  }
}
