import type { Clock } from '../clock.js'
import { watchdog } from './sse.js'
import type { WebSocketConstructor, WebSocketLike } from './web-socket-like.js'

export interface SocketConnectionOptions {
  url: string
  /** Browsers cannot send any. */
  headers?: Record<string, string> | undefined
  WebSocket: WebSocketConstructor
  clock: Clock
  /** Without a message for so long it is taken for dead. */
  stallMs: number
}

export interface SocketHandlers {
  open(): void
  /** Throws at what cannot be read. */
  message(frame: unknown): void
  /** Browsers do not show the gateway's own pings: this is the time to break the silence. */
  ping(): void
}

const PINGS_PER_STALL = 3

/** One socket, from its opening to its end. */
export class SocketConnection {
  /** How it was, when it is over. */
  readonly over: Promise<{ heard: boolean }>
  readonly #socket: WebSocketLike | null
  #finish: () => void = () => undefined

  constructor(options: SocketConnectionOptions, handlers: SocketHandlers) {
    const seen = { opened: false, heard: false }
    this.over = new Promise((resolve) => {
      this.#finish = () => resolve(seen)
    })
    this.#socket = connect(options)
    if (this.#socket) this.#listen(this.#socket, seen, options, handlers)
    else this.#finish()
  }

  send(message: Record<string, unknown>): void {
    this.#socket?.send(JSON.stringify(message))
  }

  /** At once: a socket whose peer is gone may take minutes to close. */
  drop(): void {
    this.#finish()
    this.#socket?.close()
  }

  #listen(
    socket: WebSocketLike,
    seen: { opened: boolean; heard: boolean },
    { clock, stallMs }: SocketConnectionOptions,
    handlers: SocketHandlers,
  ): void {
    let isOver = false
    const dog = watchdog(clock, stallMs, () => this.drop())
    const stopPinging = every(clock, stallMs / PINGS_PER_STALL, () => seen.opened && handlers.ping())
    const finish = this.#finish
    this.#finish = () => {
      if (isOver) return
      isOver = true
      dog.stop()
      stopPinging()
      finish()
    }
    socket.addEventListener('open', () => {
      if (isOver) return
      seen.opened = true
      dog.heard()
      handlers.open()
    })
    socket.addEventListener('message', (event) => {
      if (isOver) return
      const data = 'data' in event ? event.data : null
      seen.heard = true
      dog.heard()
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
    // An address that no socket takes; the caller asks the gateway over HTTP what is wrong.
    return null
  }
}

function every(clock: Clock, ms: number, act: () => void): () => void {
  let disarm = arm()
  function arm(): () => void {
    return clock.alarm(clock.now() + ms, () => {
      disarm = arm()
      act()
    })
  }
  return () => disarm()
}
