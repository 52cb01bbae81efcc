import type { WebSocketConstructor, WebSocketLike } from './socket-connection.js'

type SocketListener = (event: object) => void

/** WebSockets whose other end is the test. */
export function fakeWebSockets() {
  const sockets: FakeWebSocket[] = []

  class FakeWebSocket implements WebSocketLike {
    readonly url: string
    readonly headers: Record<string, string> | undefined
    readonly sent: Record<string, unknown>[] = []
    isClosed = false
    readonly #listeners = new Map<string, SocketListener[]>()

    constructor(url: string, options?: { headers: Record<string, string> }) {
      this.url = url
      this.headers = options?.headers
      sockets.push(this)
    }

    send(data: string): void {
      this.sent.push(JSON.parse(data) as Record<string, unknown>)
    }

    close(): void {
      this.isClosed = true
    }

    addEventListener(type: string, listener: SocketListener): void {
      this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener])
    }

    open(): void {
      this.#emit('open', {})
    }

    receive(...messages: unknown[]): void {
      for (const message of messages) this.#emit('message', { data: JSON.stringify(message) })
    }

    receiveText(data: unknown): void {
      this.#emit('message', { data })
    }

    lose(): void {
      this.#emit('close', {})
    }

    /** Replies with success to the last message that was sent. */
    accept(more: object = {}): void {
      this.receive({ ref: this.sent.at(-1)?.['ref'], ok: true, ...more })
    }

    #emit(type: string, event: object): void {
      for (const listener of this.#listeners.get(type) ?? []) listener(event)
    }
  }

  return { sockets, WebSocket: FakeWebSocket satisfies WebSocketConstructor }
}
