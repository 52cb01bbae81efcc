import { AskbackError } from '@askback/protocol'
import { requestHeaders } from './http-calls.js'
import { HttpTransport, STALL_MS, type HttpTransportOptions } from './http-transport.js'
import { ownAnswer } from './own-answer.js'
import { SocketLink } from './socket-link.js'
import { ALL_SESSIONS, SocketSubscriptions } from './socket-subscriptions.js'
import {
  cursorOf,
  type CallOptions,
  type ChangeItem,
  type Cursor,
  type RespondInput,
  type Settled,
  type StreamItem,
} from './transport.js'
import type { WebSocketConstructor } from './web-socket-like.js'

export interface WebSocketTransportOptions extends HttpTransportOptions {
  /** Needed where there is no global one (Node 20), and for a token: that of the `ws` package takes both. */
  WebSocket?: WebSocketConstructor
}

/** A gateway over one WebSocket for all sessions, which spares a browser's few connections; the rest goes over HTTP. */
export class WebSocketTransport extends HttpTransport {
  readonly #link: SocketLink
  readonly #subscriptions = new SocketSubscriptions()

  constructor(options: WebSocketTransportOptions = {}) {
    super(options)
    const { baseUrl = '', token, surface, stallMs = STALL_MS } = options
    this.#link = new SocketLink({
      url: socketUrl(baseUrl),
      headers: token === undefined ? undefined : requestHeaders({ token, surface }),
      WebSocket: options.WebSocket ?? globalWebSocket(token),
      proof: this.proof,
      pauses: this.pauses,
      stallMs,
      subscriptions: this.#subscriptions,
      probe: () => this.sessions({ limit: 1 }),
    })
  }

  override async *events(
    sessionId: string,
    after: Cursor | number,
    signal?: AbortSignal,
  ): AsyncGenerator<StreamItem, undefined> {
    if (signal?.aborted) return
    const queue = this.#subscriptions.add(sessionId, cursorOf(after), () => this.#link.unsubscribe(sessionId))
    const stop = () => queue.end()
    signal?.addEventListener('abort', stop)
    this.#link.subscribe(sessionId)
    try {
      yield* queue
    } finally {
      signal?.removeEventListener('abort', stop)
      stop()
    }
  }

  /** Over the socket as well: a browser has six other connections for all its windows. */
  override async *changes(signal?: AbortSignal): AsyncGenerator<ChangeItem, undefined> {
    try {
      for await (const item of this.events(ALL_SESSIONS, 0, signal)) {
        if (item.type === 'event' || item.type === 'connection') yield item
      }
    } catch (error) {
      // An older gateway takes it for a session.
      if (!(error instanceof AskbackError) || error.code !== 'not_found') throw error
      yield* super.changes(signal)
    }
  }

  /** Over the socket; where that fails, over HTTP, which repeats it without harm. */
  override async respond(input: RespondInput, options: CallOptions = {}): Promise<Settled> {
    const { idempotencyKey = this.newKey(), signal } = options
    try {
      const reply = await this.#link.request({ op: 'respond', ...input, idempotencyKey })
      return reply as unknown as Settled
    } catch (error) {
      const own = ownAnswer(error, input.answer)
      if (own) return own
      if (!(error instanceof AskbackError) || error.code !== 'unavailable') throw error
      return super.respond(input, { idempotencyKey, ...(signal && { signal }) })
    }
  }

  protected override lose(): void {
    this.#link.lose()
    super.lose()
  }

  override close(): void {
    this.#link.close()
    super.close()
  }
}

function socketUrl(baseUrl: string): string {
  const page = 'location' in globalThis ? globalThis.location.href : undefined
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}/api/ws`, page)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  return url.href
}

function globalWebSocket(token: string | undefined): WebSocketConstructor {
  if (typeof WebSocket !== 'function') {
    throw new AskbackError(
      'invalid_request',
      'There is no WebSocket here: pass one, such as that of the ws package.',
    )
  }
  if (token !== undefined && 'document' in globalThis) {
    throw new AskbackError(
      'invalid_request',
      'A page cannot send a token with a WebSocket: log in for a cookie, or use the HttpTransport.',
    )
  }
  return WebSocket as unknown as WebSocketConstructor
}
