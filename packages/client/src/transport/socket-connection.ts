import type { Clock } from '@askback/protocol'
import { every, watchdog } from './watchdog.js'

/** The part of a WebSocket that is used: those of browsers, of Node 22 and of the `ws` package all have it. */
export interface WebSocketLike {
  send(data: string): void
  close(): void
  addEventListener(type: 'open' | 'message' | 'close' | 'error', listener: (event: object) => void): void
}

/**
 * The second argument is passed with a token only. Browsers cannot send headers with a WebSocket, so a page uses its login: a
 * token in the address would end up in logs.
 */
export type WebSocketConstructor = new (
  url: string,
  options?: { headers: Record<string, string> },
) => WebSocketLike

export interface SocketConnectionOptions {
  url: string
  /** Not in browsers, which cannot send any. */
  headers?: Record<string, string> | undefined
  WebSocket: WebSocketConstructor
  clock: Clock
  /** A socket that receives no message for this many milliseconds is given up. */
  stallMs: number
}

export interface SocketHandlers {
  open(): void
  /** Throws if the frame cannot be read; then the socket is closed. */
  message(frame: unknown): void
  /** Called several times per `stallMs` to make the gateway answer: pages cannot see the pings of the WebSocket protocol. */
  ping(): void
}

const PINGS_PER_STALL = 3

/** One socket, from its opening to its end. `SocketLink` makes a new one for each attempt. */
export class SocketConnection {
  /** Resolves when the socket is closed or given up; `received` says whether it ever brought a message. */
  readonly closed: Promise<{ received: boolean }>
  readonly #socket: WebSocketLike | null
  #finish: () => void = () => undefined

  constructor(options: SocketConnectionOptions, handlers: SocketHandlers) {
    const seen = { opened: false, received: false }
    this.closed = new Promise((resolve) => {
      this.#finish = () => resolve(seen)
    })
    this.#socket = connect(options)
    if (this.#socket) this.#listen(this.#socket, seen, options, handlers)
    else this.#finish()
  }

  send(message: Record<string, unknown>): void {
    this.#socket?.send(JSON.stringify(message))
  }

  /** Takes effect at once: a socket whose peer is gone may take minutes to close. */
  drop(): void {
    this.#finish()
    this.#socket?.close()
  }

  #listen(
    socket: WebSocketLike,
    seen: { opened: boolean; received: boolean },
    { clock, stallMs }: SocketConnectionOptions,
    handlers: SocketHandlers,
  ): void {
    let isClosed = false
    const stallTimer = watchdog(clock, stallMs, () => this.drop())
    const stopPinging = every(clock, stallMs / PINGS_PER_STALL, () => seen.opened && handlers.ping())
    const finish = this.#finish
    this.#finish = () => {
      if (isClosed) return
      isClosed = true
      stallTimer.stop()
      stopPinging()
      finish()
    }
    socket.addEventListener('open', () => {
      if (isClosed) return
      seen.opened = true
      stallTimer.received()
      handlers.open()
    })
    socket.addEventListener('message', (event) => {
      if (isClosed) return
      const data = 'data' in event ? event.data : null
      seen.received = true
      stallTimer.received()
      try {
        handlers.message(typeof data === 'string' ? JSON.parse(data) : null)
      } catch {
        this.drop()
      }
    })
    socket.addEventListener('close', () => this.#finish())
    socket.addEventListener('error', () => this.#finish())
  }
}

function connect({ url, headers, WebSocket }: SocketConnectionOptions): WebSocketLike | null {
  try {
    return headers ? new WebSocket(url, { headers }) : new WebSocket(url)
  } catch {
    // The address is not acceptable for a socket; the caller asks the gateway over HTTP what is wrong.
    return null
  }
}
