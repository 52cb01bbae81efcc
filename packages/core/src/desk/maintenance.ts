import { AskbackError } from '@askback/protocol'
import { erasureKey } from '../decide/control.js'
import { sessionRulesPrefix } from '../decide/rules.js'
import { optional } from '../optional.js'
import { Retry } from '../retry.js'
import type { ChangeNotice } from '../store/store.js'
import type { Engine } from './engine.js'

const RETENTION_CHECK_MS = 3_600_000
const RETRY_MS = 1000
const SESSIONS_PER_PAGE = 500
/** Larger, because these pages contain ids only. */
const NOTICES_PER_PAGE = 10_000

export interface MaintenanceOptions {
  /** Sessions whose last event is older than this are deleted, in milliseconds; `null` keeps all. */
  retentionMs: number | null
  /** Interval of the poll for lost doorbells on a shared store, in milliseconds. */
  repairMs: number
  /** Called last when the desk starts. Like the rest of the start it is retried until it succeeds. */
  onStart: () => Promise<void>
}

/**
 * The background work of a desk. At start it schedules the deadlines and finishes the erasures that the last process left. On a
 * shared store it polls for changes whose doorbell was lost. It deletes sessions after the retention time.
 */
export class Maintenance {
  readonly #engine: Engine
  readonly #options: MaintenanceOptions
  readonly #retry: Retry
  readonly #disarm = new Map<string, () => void>()
  /** The poll has read the store up to here; `null` before the first start. */
  #cursor: string | null = null

  constructor(engine: Engine, options: MaintenanceOptions) {
    this.#engine = engine
    this.#options = options
    this.#retry = new Retry(engine.options.clock, engine.options.onError)
  }

  /** Retried until it succeeds: without it the deadlines of the last process would never be met. */
  start(): Promise<void> {
    return this.#retry.untilDone(() => this.#finishStart())
  }

  /** The second half of a deletion. The first half, the `end` command, is durable and left a record, so a failure here is retried. */
  async erase(sessionId: string): Promise<void> {
    try {
      await this.#erase(sessionId)
    } catch (error) {
      this.#at(RETRY_MS, `erase ${sessionId}`, () => this.erase(sessionId))
      throw error
    }
  }

  /** Deletes the sessions whose last event is older than this. */
  async deleteOldSessions(retentionMs: number): Promise<void> {
    const { store, clock, onError } = this.#engine.options
    const updatedBefore = clock.now() - retentionMs
    let after: string | undefined
    do {
      const { items, next } = await store.sessions({
        limit: SESSIONS_PER_PAGE,
        updatedBefore,
        ...optional({ after }),
      })
      for (const { id } of items) {
        // A session that cannot be deleted does not prevent the deletion of others.
        await this.#deleteIfOld(id, updatedBefore).catch(
          (error: unknown) => this.#engine.closed || onError(error),
        )
      }
      after = next ?? undefined
    } while (after !== undefined)
  }

  async #deleteIfOld(sessionId: string, updatedBefore: number): Promise<void> {
    const session = await this.#engine.options.store.session(sessionId)
    // It may have been used since the page was read.
    if ((session?.updatedAt ?? 0) >= updatedBefore) return
    await this.#end(sessionId)
    await this.erase(sessionId)
  }

  /** The poll: reads what changed without a doorbell. The session cache retries a session whose log cannot be read now. */
  async repair(): Promise<void> {
    const { onError, clock } = this.#engine.options
    const startedAt = clock.now()
    for (let notices = await this.#readNotices(); notices.length > 0; notices = await this.#readNotices()) {
      for (const { sessionId, reaches } of notices) {
        if (reaches && this.#engine.reaches(sessionId, reaches)) continue
        await this.#engine.refresh(sessionId).catch((error: unknown) => this.#engine.closed || onError(error))
      }
      this.#cursor = notices.at(-1)!.cursor
      this.#engine.allSessions.hint()
    }
    this.#engine.setComparedAt(startedAt)
    await this.#scheduleDeadlines()
    await this.#finishErasures()
  }

  async #readNotices(): Promise<ChangeNotice[]> {
    const { store } = this.#engine.options
    const query = { after: this.#cursor ?? '', limit: NOTICES_PER_PAGE }
    return store.changedSessions ? store.changedSessions(query) : store.changes(query)
  }

  /** The process that opened an interaction may be down at its deadline. On a shared store only the deadlines before the next two polls. */
  async #scheduleDeadlines(): Promise<void> {
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
      // Sessions in memory were read before the cursor: changes in between are not in the poll.
      this.#engine.allSessions.hint()
      await this.#engine.refreshAll()
      this.#engine.setComparedAt(startedAt)
    }
    await this.#scheduleDeadlines()
    await this.#finishErasures()
    if (retentionMs !== null) {
      await this.deleteOldSessions(retentionMs)
      this.#every('retention', RETENTION_CHECK_MS, () => this.deleteOldSessions(retentionMs))
    }
    await onStart()
  }

  async #erase(sessionId: string): Promise<void> {
    const { store } = this.#engine.options
    const marker = await store.kv.get(erasureKey(sessionId))
    // Without the record another process has erased the session.
    if (!marker) return this.#engine.forget(sessionId)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the value of this key is the id of the log to erase
    const logId = marker.value as string
    const rules = await store.kv.list(sessionRulesPrefix(sessionId))
    // While the old log is there, these rules are not those of a new session with the same id.
    const [first] = await store.read({ sessionId, limit: 1 })
    if (first?.id === logId) for (const rule of rules) await store.kv.put(rule.key, null, rule.version)
    try {
      await store.erase(sessionId, logId)
    } finally {
      // The erasure may have happened although the call failed.
      this.#engine.forget(sessionId)
    }
    await store.kv.put(marker.key, null, marker.version)
  }

  /** Erasures that another process, or this one before a crash, did not finish. */
  async #finishErasures(): Promise<void> {
    const prefix = erasureKey('')
    const markers = await this.#engine.options.store.kv.list(prefix)
    for (const { key } of markers) await this.erase(key.slice(prefix.length))
  }

  async #end(sessionId: string): Promise<void> {
    try {
      await this.#engine.run(sessionId, { type: 'end', via: 'policy' })
    } catch (error) {
      // Another call is deleting it.
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
      // An error after closing is not reported: the next start does the rest.
      work().catch((error: unknown) => this.#engine.closed || onError(error))
    })
    this.#disarm.set(name, disarm)
  }
}
