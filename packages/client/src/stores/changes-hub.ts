import { asAskbackError, type AskbackError, type Backoff, type SessionEvent } from '@askback/protocol'
import { isRetryable } from '../transport/gateway-errors.js'
import type { Transport } from '../transport/transport.js'
import type { ConnectionStatus } from './session-feed.js'

export interface ChangesListener {
  /** Called with `live` each time the stream opens. Earlier events are not sent, so lists are fetched again then. */
  connection(status: ConnectionStatus, error: AskbackError | null): void
  event(event: SessionEvent): void
  /** The session was deleted, and its last events may be missing. */
  gone(sessionId: string): void
}

export interface ChangesHubOptions {
  transport: Transport
  backoff: Backoff
  onConnected: () => void
}

/** The one stream over all sessions, which the inbox and the session list share. It is open while it has listeners. */
export class ChangesHub {
  readonly #options: ChangesHubOptions
  readonly #listeners = new Set<ChangesListener>()
  #running: AbortController | null = null
  #status: ConnectionStatus = 'connecting'

  constructor(options: ChangesHubOptions) {
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

  /** Tries again at once, for example after a new login. */
  reconnect(): void {
    if (!this.#running || this.#status === 'live') return
    this.#stop()
    this.#start()
  }

  #start(): void {
    const running = new AbortController()
    this.#running = running
    this.#run(running.signal).catch((caught: unknown) => {
      if (running.signal.aborted) return
      const error = asAskbackError(caught)
      this.#publishStatus(error.code === 'unauthorized' ? 'unauthorized' : 'offline', error)
    })
  }

  #stop(): void {
    this.#running?.abort()
    this.#running = null
    this.#status = 'connecting'
  }

  /** Rejects if trying again would not help. */
  async #run(signal: AbortSignal): Promise<void> {
    const { transport, backoff, onConnected } = this.#options
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        for await (const item of transport.changes(signal)) {
          failures = 0
          if (item.type === 'event') for (const listener of this.#listeners) listener.event(item.event)
          else if (item.type === 'gone') for (const listener of this.#listeners) listener.gone(item.sessionId)
          else this.#publishStatus(item.status)
          if (item.type === 'connection' && item.status === 'live') onConnected()
        }
      } catch (error) {
        if (!isRetryable(error)) throw error
        this.#publishStatus('offline')
      }
      await backoff.wait(failures, signal)
    }
  }

  #publishStatus(status: ConnectionStatus, error: AskbackError | null = null): void {
    this.#status = status
    for (const listener of this.#listeners) listener.connection(status, error)
  }
}
