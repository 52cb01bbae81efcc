import {
  asAskbackError,
  type AskbackError,
  type Backoff,
  type Clock,
  type SessionEvent,
} from '@askback/protocol'
import { isRetryable } from '../transport/gateway-errors.js'
import type { HistoryQuery, StreamItem, Transport } from '../transport/transport.js'
import type { ServerClock } from './server-clock.js'
import { SessionFold } from './session-fold.js'

/** `unauthorized`: the login is missing or has ended, so nothing is tried until there is a new one. */
export type ConnectionStatus = 'connecting' | 'live' | 'offline' | 'unauthorized'

export interface SessionFeedOptions {
  transport: Transport
  backoff: Backoff
  clock: Clock
  serverClock: ServerClock
  /** Called when the view has changed; `live` if only a text that is being written has grown. */
  onChanged: (when?: 'live') => void
  /** Called when the gateway answers again. */
  onConnected: () => void
}

/** How long to wait for missing events before they are requested. */
const GAP_MS = 1000
const OLDER_PAGE_SIZE = 500
/** By then a new stream has sent all unfinished blocks again. */
const LIVE_RESENT_MS = 2000

/**
 * Keeps the state of one session up to date.
 *
 *   connecting ──(snapshot, then stream)──▶ live ──(lost)──▶ offline ──(backoff)──▶ live
 *        └──(refused)──▶ unauthorized or offline, with an error, until `reconnect`
 *
 * It takes a snapshot once, and then only the events after it. If events are missing, they are usually on their way; after
 * `GAP_MS` they are requested. On `resync` the cursor does not belong to the log any more, and a new snapshot is taken.
 */
export class SessionFeed {
  readonly fold = new SessionFold()
  readonly #sessionId: string
  readonly #options: SessionFeedOptions
  #connection: ConnectionStatus = 'connecting'
  #error: AskbackError | null = null
  #running: AbortController | null = null
  #cancelGapTimer: (() => void) | null = null
  #cancelSweep: () => void = () => undefined

  constructor(sessionId: string, options: SessionFeedOptions) {
    this.#sessionId = sessionId
    this.#options = options
  }

  get connection(): ConnectionStatus {
    return this.#connection
  }

  get error(): AskbackError | null {
    return this.#error
  }

  start(): void {
    const running = new AbortController()
    this.#running = running
    this.#run(running.signal).catch((error: unknown) => this.#fail(error, running.signal))
  }

  stop(): void {
    this.#running?.abort()
    this.#running = null
    this.#stopGapTimer()
    this.#cancelSweep()
    this.#connection = 'connecting'
  }

  /** Tries again at once if it is not connected, for example after a new login. */
  reconnect(): void {
    if (!this.#running || this.#connection === 'live') return
    this.stop()
    this.start()
  }

  /** Adds events, from the stream or from the reply to an answer. */
  receive(events: readonly SessionEvent[]): void {
    if (this.fold.add(events)) this.#options.onChanged()
    this.#watchGap()
  }

  /** Fetches the page before the oldest event known. Returns whether there was one. */
  async loadOlderPage(): Promise<boolean> {
    const before = this.fold.startOfHistory()
    const events = await this.#history({ before, limit: OLDER_PAGE_SIZE })
    if (events) this.fold.prepend(before, events)
    return events !== null && events.length > 0
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { transport, backoff } = this.#options
    let failures = 0
    while (!signal.aborted) {
      try {
        if (!this.fold.state) await this.#load(signal)
        const { seq, logId } = this.fold.state!
        for await (const item of transport.events(this.#sessionId, { seq, logId }, signal)) {
          if (item.type === 'event') failures = 0
          if (item.type === 'resync') await this.#load(signal)
          else this.#receiveItem(item)
        }
        // It ended after a resync, usually: the new snapshot is loaded, so connect at once. After several in a row, wait.
        if (failures++ === 0) continue
      } catch (error) {
        if (signal.aborted) return
        if (!isRetryable(error)) throw error
        failures += 1
        this.#setConnection('offline')
      }
      await backoff.wait(failures, signal)
    }
  }

  async #load(signal: AbortSignal): Promise<void> {
    const { transport, serverClock, onChanged } = this.#options
    const snapshot = await serverClock.setBy(() => transport.snapshot(this.#sessionId))
    if (signal.aborted) return
    this.fold.load(snapshot)
    this.#error = null
    onChanged()
  }

  #receiveItem(item: Exclude<StreamItem, { type: 'resync' }>): void {
    const { serverClock, onChanged, onConnected } = this.#options
    switch (item.type) {
      case 'event':
        serverClock.observe(item.event.at)
        this.receive([item.event])
        break
      case 'live':
        if (this.fold.addLive(item.event)) onChanged('live')
        break
      case 'connection':
        this.#setConnection(item.status)
        if (item.status === 'live') this.#sweepLiveLater()
        if (item.status === 'live') onConnected()
        break
    }
  }

  /** A new stream sends the unfinished blocks again. Those it does not send are removed a little later. */
  #sweepLiveLater(): void {
    const { clock, onChanged } = this.#options
    this.fold.live.beginStream()
    this.#cancelSweep()
    this.#cancelSweep = clock.alarm(clock.now() + LIVE_RESENT_MS, () => {
      this.fold.live.sweep()
      onChanged()
    })
  }

  /** Requests missing events if they do not come by themselves. */
  #watchGap(): void {
    const { clock } = this.#options
    const signal = this.#running?.signal
    if (!this.fold.hasGap || !signal) return this.#stopGapTimer()
    this.#cancelGapTimer ??= clock.alarm(clock.now() + GAP_MS, () => {
      this.#cancelGapTimer = null
      this.#fillGap(signal).catch(() => this.#watchGap())
    })
  }

  #stopGapTimer(): void {
    this.#cancelGapTimer?.()
    this.#cancelGapTimer = null
  }

  async #fillGap(signal: AbortSignal): Promise<void> {
    const after = this.fold.state?.seq
    if (after === undefined || !this.fold.hasGap) return
    const events = await this.#history({ after })
    if (signal.aborted) return
    if (events) this.receive(events)
    else this.#watchGap()
  }

  /**
   * A page of the log that is shown; `null` if that log was erased. Then a session with the same id may have another log, in which
   * the same `seq` is another event; the stream reports that with a resync.
   */
  async #history(query: HistoryQuery): Promise<SessionEvent[] | null> {
    const { transport } = this.#options
    const logId = this.fold.state?.logId
    const { events } = await transport.history(this.#sessionId, query)
    if (events.length === 0) return events
    // If the log still exists after the read, the page is from it: an erased log does not come back.
    const isWhole = events[0]!.seq === 1
    const [first] = isWhole ? events : (await transport.history(this.#sessionId, { limit: 1 })).events
    return first?.id === logId && this.fold.state?.logId === logId ? events : null
  }

  #setConnection(status: ConnectionStatus): void {
    if (this.#connection === status) return
    this.#connection = status
    this.#options.onChanged()
  }

  #fail(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return
    this.#error = asAskbackError(error)
    this.#connection = this.#error.code === 'unauthorized' ? 'unauthorized' : 'offline'
    this.#options.onChanged()
  }
}
