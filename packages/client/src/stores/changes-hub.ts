import { asAskbackError, type AskbackError, type SessionEvent } from '@askback/protocol'
import type { Pauses } from '../pauses.js'
import { isPassing } from '../transport/http-errors.js'
import type { Transport } from '../transport/transport.js'
import type { ConnectionStatus } from './session-feed.js'

export interface ChangesListener {
  /** `live` comes each time the stream is opened: what happened before is to be asked for. */
  connection(status: ConnectionStatus, error: AskbackError | null): void
  event(event: SessionEvent): void
}

/** One stream over all sessions, for as long as anybody needs it. */
export class ChangesHub {
  readonly #options: { transport: Transport; pauses: Pauses; connected: () => void }
  readonly #listeners = new Set<ChangesListener>()
  #running: AbortController | null = null
  #status: ConnectionStatus = 'connecting'

  constructor(options: { transport: Transport; pauses: Pauses; connected: () => void }) {
    this.#options = options
  }

  on(listener: ChangesListener): () => void {
    this.#listeners.add(listener)
    if (!this.#running) this.#start()
    else listener.connection(this.#status, null)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#stop()
    }
  }

  /** After a new login. */
  reconnect(): void {
    if (!this.#running || this.#status === 'live') return
    this.#stop()
    this.#start()
  }

  #start(): void {
    const running = new AbortController()
    this.#running = running
    this.#run(running.signal).catch((error: unknown) => {
      if (running.signal.aborted) return
      const told = asAskbackError(error)
      this.#tell(told.code === 'unauthorized' ? 'unauthorized' : 'offline', told)
    })
  }

  #stop(): void {
    this.#running?.abort()
    this.#running = null
    this.#status = 'connecting'
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { transport, pauses, connected } = this.#options
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        for await (const item of transport.changes(signal)) {
          failures = 0
          if (item.type === 'event') for (const listener of this.#listeners) listener.event(item.event)
          else this.#tell(item.status)
          if (item.type === 'connection' && item.status === 'live') connected()
        }
      } catch (error) {
        if (!isPassing(error)) throw error
        this.#tell('offline')
      }
      await pauses.before(failures, signal)
    }
  }

  #tell(status: ConnectionStatus, error: AskbackError | null = null): void {
    this.#status = status
    for (const listener of this.#listeners) listener.connection(status, error)
  }
}
