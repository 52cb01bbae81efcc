import { AskbackError } from '@askback/protocol'
import { requestHeaders } from './http-calls.js'
import { HttpTransport, STALL_MS, type HttpTransportOptions } from './http-transport.js'
import type { WebSocketConstructor } from './socket-connection.js'
import { SocketLink } from './socket-link.js'
import { ALL_SESSIONS, SocketSubscriptions } from './socket-subscriptions.js'
import {
  alreadyAnswered,
  cursorOf,
  type CallOptions,
  type ChangeItem,
  type Cursor,
  type RespondInput,
  type SettleResult,
  type StreamItem,
} from './transport.js'
import type { WireItem } from './stream-items.js'

export interface WebSocketTransportOptions extends HttpTransportOptions {
  /**
   * Needed where there is no global WebSocket (Node 20), and to send a token: that of the `ws` package works for both.
   *
   * @default the global `WebSocket`
   */
  WebSocket?: WebSocketConstructor
}

/**
 * Reaches a gateway over one WebSocket for the streams of all sessions and for answers; everything else goes over HTTP. A
 * browser has only six HTTP connections for all its windows, which streams over HTTP would use up.
 *
 * The constructor throws `invalid_request` if there is no WebSocket, or if a page tries to send a token with one.
 *
 * @example
 * import { WebSocket } from 'ws'
 * const transport = new WebSocketTransport({ baseUrl: 'http://127.0.0.1:4100', token, WebSocket })
 */
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
      backoff: this.backoff,
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
    for await (const item of this.#items(sessionId, after, signal)) if (item.type !== 'gone') yield item
  }

  async *#items(
    sessionId: string,
    after: Cursor | number,
    signal?: AbortSignal,
  ): AsyncGenerator<WireItem, undefined> {
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

  override async *changes(signal?: AbortSignal): AsyncGenerator<ChangeItem, undefined> {
    try {
      for await (const item of this.#items(ALL_SESSIONS, 0, signal)) {
        if (item.type === 'event' || item.type === 'gone' || item.type === 'connection') yield item
      }
    } catch (error) {
      // An older gateway takes `*` for the id of a session.
      if (!(error instanceof AskbackError) || error.code !== 'not_found') throw error
      yield* super.changes(signal)
    }
  }

  /** Sends the answer over the socket, and if that fails over HTTP under the same idempotency key. */
  override async respond(input: RespondInput, options: CallOptions = {}): Promise<SettleResult> {
    const { idempotencyKey = this.newKey(), signal } = options
    try {
      const reply = await this.#link.request({ op: 'respond', ...input, idempotencyKey })
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the gateway is trusted to answer `respond` with a settlement
      return reply as unknown as SettleResult
    } catch (error) {
      const settled = alreadyAnswered(error, input.answer)
      if (settled) return settled
      if (!(error instanceof AskbackError) || error.code !== 'unavailable') throw error
      return super.respond(input, { idempotencyKey, ...(signal && { signal }) })
    }
  }

  protected override reconnectStreams(): void {
    this.#link.reconnect()
    super.reconnectStreams()
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
      'There is no global WebSocket here: pass one, such as that of the ws package.',
    )
  }
  if (token !== undefined && 'document' in globalThis) {
    throw new AskbackError(
      'invalid_request',
      'A page cannot send a token with a WebSocket: log in for a cookie, or use the HttpTransport.',
    )
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type of the DOM has more overloads than the one used here
  return WebSocket as unknown as WebSocketConstructor
}
