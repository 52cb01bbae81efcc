import { pendingOf } from '@askback/protocol'
import type { Clock } from '../clock.js'
import { eventTexts } from './event-texts.js'
import type { Listeners } from './listeners.js'
import type { SessionLog } from './session-log.js'
import type { SessionLogs } from './session-logs.js'
import type { Timeouts } from './timeouts.js'

const RETRY_MS = 1000

/** A doorbell: that session has been appended to, up to that `seq`. */
interface Ring {
  sessionId: string
  seq: number
}

interface Ports {
  logs: SessionLogs
  timeouts: Timeouts
  listeners: Listeners
  clock: Clock
  /** Whether other processes append, too. */
  shared: boolean
  /** Looks after those who wait in a session that may hold what this process did not append. */
  recheck: (sessionId: string) => Promise<void>
  onError: (error: unknown) => void
}

/** Keeps up with what other processes append. */
export class Hearing {
  /** Sessions that were heard of while the store could not be read: who waits in them is looked after later. */
  readonly unheard = new Set<string>()
  readonly #ports: Ports
  #closed = false

  constructor(ports: Ports) {
    this.#ports = ports
  }

  /** Somebody appended. If it was another process, this one catches up and looks again at what is waited for. */
  async hear(ring: Ring): Promise<void> {
    try {
      if (!(await this.#catchUp(ring))) return
    } catch (error) {
      this.unheard.add(ring.sessionId)
      throw error
    }
    await this.#lookAfter(ring.sessionId)
  }

  /** As it does of its own appends. */
  knows({ sessionId, seq }: Ring): boolean {
    return (this.#ports.logs.peek(sessionId)?.state.seq ?? -1) >= seq
  }

  /** A session came into memory: it may have been read with what others appended while it was not. */
  loaded(sessionId: string): void {
    if (this.#ports.shared) this.#lookAfter(sessionId).catch(this.#ports.onError)
  }

  /** A decision that appends nothing is not checked by an append: where others append too, it is by a look at the log. */
  async isBehind(log: SessionLog): Promise<boolean> {
    const { sessionId, seq } = log.state
    if (!this.#ports.shared || (await log.isCurrent())) return false
    await this.hear({ sessionId, seq: seq + 1 })
    return true
  }

  /**
   * After an append that failed: others were faster, and their doorbell was taken for ours, or it was written and nobody
   * knows. Makes up for what that would have armed, told and woken.
   */
  lookAgain(sessionId: string): void {
    const { logs, timeouts, listeners, clock, recheck, onError } = this.#ports
    const look = async () => {
      const { state } = await logs.get(sessionId)
      for (const item of pendingOf(state)) timeouts.arm(item)
      listeners.tell({ sessionId, seq: state.seq, events: [], texts: () => [] })
      await recheck(sessionId)
    }
    if (this.#closed) return
    look().catch((error: unknown) => {
      if (this.#closed) return
      onError(error)
      clock.alarm(clock.now() + RETRY_MS, () => this.lookAgain(sessionId))
    })
  }

  close(): void {
    this.#closed = true
  }

  async #lookAfter(sessionId: string): Promise<void> {
    try {
      await this.#ports.recheck(sessionId)
    } catch (error) {
      this.unheard.add(sessionId)
      throw error
    }
  }

  /** Resolves to whether there may be news. */
  async #catchUp({ sessionId, seq }: Ring): Promise<boolean> {
    const { logs, timeouts, listeners } = this.#ports
    if (this.#closed || this.knows({ sessionId, seq })) return false
    logs.heard(sessionId, seq)
    const log = logs.peek(sessionId)
    const events = log && !log.stale ? await log.catchUp() : []
    // Nothing new: either it was known, or the session was made anew and this is the log of the old one.
    if (log && events.length === 0 && (await log.isCurrent())) return false
    timeouts.heed(events)
    listeners.tell({ sessionId, seq: events.at(-1)?.seq ?? seq, events, texts: () => eventTexts(events) })
    return true
  }
}
