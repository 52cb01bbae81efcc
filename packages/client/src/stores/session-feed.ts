import { asAskbackError, type AskbackError, type SessionEvent } from '@askback/protocol'
import type { Clock } from '../clock.js'
import type { Pauses } from '../pauses.js'
import { isPassing } from '../transport/http-errors.js'
import type { StreamItem, Transport } from '../transport/transport.js'
import type { ServerClock } from './server-clock.js'
import { SessionFold } from './session-fold.js'

export type ConnectionStatus = 'connecting' | 'live' | 'offline' | 'unauthorized'

export interface SessionFeedOptions {
  transport: Transport
  pauses: Pauses
  clock: Clock
  serverClock: ServerClock
  changed: (when?: 'live') => void
  /** The gateway answers again. */
  connected: () => void
}

const GAP_MS = 1000
const OLDER_PAGE = 500
/** By then a new stream has told what is being made. */
const RETOLD_MS = 2000

/** Keeps a session's fold up to date: a snapshot, then what follows it, and what got lost on the way. */
export class SessionFeed {
  readonly fold = new SessionFold()
  readonly #sessionId: string
  readonly #options: SessionFeedOptions
  #connection: ConnectionStatus = 'connecting'
  #error: AskbackError | null = null
  #running: AbortController | null = null
  #disarmGap: (() => void) | null = null
  #disarmSweep: () => void = () => undefined

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
    this.#run(running.signal).catch((error: unknown) => this.#give(error, running.signal))
  }

  stop(): void {
    this.#running?.abort()
    this.#running = null
    this.#closeGap()
    this.#disarmSweep()
    this.#connection = 'connecting'
  }

  reconnect(): void {
    if (!this.#running || this.#connection === 'live') return
    this.stop()
    this.start()
  }

  /** Events that came by another way than the stream. */
  offer(events: readonly SessionEvent[]): void {
    if (this.fold.offer(events)) this.#options.changed()
    this.#watchGap()
  }

  /** Whether there was anything. */
  async loadOlderPage(): Promise<boolean> {
    const before = this.fold.lookBack()
    const { events } = await this.#options.transport.history(this.#sessionId, { before, limit: OLDER_PAGE })
    this.fold.prepend(before, events)
    return events.length > 0
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { transport, pauses } = this.#options
    let failures = 0
    while (!signal.aborted) {
      try {
        if (!this.fold.state) await this.#load(signal)
        const { seq, logId } = this.fold.state!
        for await (const item of transport.events(this.#sessionId, { seq, logId }, signal)) {
          if (item.type === 'event') failures = 0
          if (item.type === 'resync') await this.#load(signal)
          else this.#take(item)
        }
        // A resync, mostly: the new snapshot is there already. One upon the other is another matter.
        if (failures++ === 0) continue
      } catch (error) {
        if (signal.aborted) return
        if (!isPassing(error)) throw error
        failures += 1
        this.#setConnection('offline')
      }
      await pauses.before(failures, signal)
    }
  }

  async #load(signal: AbortSignal): Promise<void> {
    const { transport, serverClock, changed } = this.#options
    const snapshot = await serverClock.ask(() => transport.snapshot(this.#sessionId))
    if (signal.aborted) return
    this.fold.load(snapshot)
    this.#error = null
    changed()
  }

  #take(item: Exclude<StreamItem, { type: 'resync' }>): void {
    const { serverClock, changed, connected } = this.#options
    switch (item.type) {
      case 'event':
        serverClock.heard(item.event.at)
        this.offer([item.event])
        break
      case 'live':
        if (this.fold.offerLive(item.event)) changed('live')
        break
      case 'connection':
        this.#setConnection(item.status)
        if (item.status === 'live') this.#renewLive()
        if (item.status === 'live') connected()
        break
    }
  }

  #renewLive(): void {
    const { clock, changed } = this.#options
    this.fold.live.renew()
    this.#disarmSweep()
    this.#disarmSweep = clock.alarm(clock.now() + RETOLD_MS, () => {
      this.fold.live.sweep()
      changed()
    })
  }

  /** What is missing is mostly on its way; if it does not come, it is fetched. */
  #watchGap(): void {
    const { clock } = this.#options
    const signal = this.#running?.signal
    if (!this.fold.hasGap || !signal) return this.#closeGap()
    this.#disarmGap ??= clock.alarm(clock.now() + GAP_MS, () => {
      this.#disarmGap = null
      this.#fillGap(signal).catch(() => this.#watchGap())
    })
  }

  #closeGap(): void {
    this.#disarmGap?.()
    this.#disarmGap = null
  }

  async #fillGap(signal: AbortSignal): Promise<void> {
    const after = this.fold.state?.seq
    if (after === undefined || !this.fold.hasGap) return
    const { events } = await this.#options.transport.history(this.#sessionId, { after })
    if (!signal.aborted) this.offer(events)
  }

  #setConnection(status: ConnectionStatus): void {
    if (this.#connection === status) return
    this.#connection = status
    this.#options.changed()
  }

  #give(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) return
    this.#error = asAskbackError(error)
    this.#connection = this.#error.code === 'unauthorized' ? 'unauthorized' : 'offline'
    this.#options.changed()
  }
}
