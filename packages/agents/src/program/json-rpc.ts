/**
 * One end of a JSON-RPC connection. Both ends may send requests and notifications.
 *
 * Notifications are handled one after the other, in the order of their arrival. A request is handled once all notifications
 * before it are, so that its handler sees what the other end reported first. Later messages do not wait for its answer,
 * because a person may have to give it.
 *
 * The library of the Agent Client Protocol has a JSON-RPC connection, too. It accepts only messages with the field
 * `jsonrpc: '2.0'`, which those of `codex app-server` do not have, so both adapters use this one.
 */
import { errorMessage } from '@askback/protocol'
import { parseObject, type Channel } from './ndjson.js'

export type Params = Record<string, unknown>

export interface JsonRpcHandlers {
  /** Resolves with the result. What it throws is sent to the other end as an error. */
  request(method: string, params: Params): Promise<unknown>
  notification(method: string, params: Params): Promise<void>
  /** Called for errors that no caller would see otherwise. */
  failed(error: unknown): void
}

interface JsonRpcMessage {
  id?: string | number | null
  method?: string
  params?: Params
  result?: unknown
  error?: { message?: string; code?: number; data?: unknown }
}

/** The error with which the other end has answered a request. */
export class JsonRpcError extends Error {
  override readonly name = 'JsonRpcError'
  readonly code: number | undefined

  constructor(message: string, code: number | undefined) {
    super(message)
    this.code = code
  }
}

interface SentRequest {
  method: string
  resolve: (result: unknown) => void
  reject: (error: Error) => void
}

export class JsonRpcConnection {
  readonly #channel: Channel
  readonly #handlers: JsonRpcHandlers
  readonly #header: object
  readonly #pending = new Map<string | number, SentRequest>()
  #lastId = 0
  #handled: Promise<void> = Promise.resolve()
  #closed: Error | null = null

  /** `header` goes into every message: `{ jsonrpc: '2.0' }` for agents that follow the standard. */
  constructor(channel: Channel, handlers: JsonRpcHandlers, header: { jsonrpc?: '2.0' } = {}) {
    this.#channel = channel
    this.#handlers = handlers
    this.#header = header
    channel.listen((text) => this.#receive(text))
  }

  /** Rejects with the other end's error, a `JsonRpcError`, or with the reason of `close`. */
  request<Result>(method: string, params: object): Promise<Result> {
    if (this.#closed) return Promise.reject(this.#closed)
    const id = ++this.#lastId
    return new Promise<Result>((resolve, reject) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the other end is trusted to answer with the result of this method
      const resolveUnchecked = resolve as SentRequest['resolve']
      this.#pending.set(id, { method, resolve: resolveUnchecked, reject })
      this.#send({ id, method, params })
    })
  }

  notify(method: string, params?: object): void {
    this.#send({ method, ...(params && { params }) })
  }

  /** Resolves when every notification that has arrived so far is handled. */
  get notificationsHandled(): Promise<void> {
    return this.#handled
  }

  /** Rejects pending requests with this reason, and sends nothing from now on. */
  close(reason: string): void {
    this.#closed ??= new Error(reason)
    for (const { reject } of this.#pending.values()) reject(this.#closed)
    this.#pending.clear()
  }

  #receive(text: string): void {
    // The other end is trusted to follow JSON-RPC.
    const message = parseObject(text) as JsonRpcMessage | null
    if (!message) return
    const { id, method, params = {} } = message
    if (method === undefined) return this.#settle(message)
    if (id === undefined || id === null) {
      this.#handled = this.#handled
        .then(() => this.#handlers.notification(method, params))
        .catch((error: unknown) => this.#handlers.failed(error))
      return
    }
    this.#handled
      .then(() => this.#handlers.request(method, params))
      .then(
        (result) => this.#send({ id, result }),
        (error: unknown) => this.#send({ id, error: { code: -32000, message: errorMessage(error) } }),
      )
      .catch((error: unknown) => this.#handlers.failed(error))
  }

  #settle({ id, error, result }: JsonRpcMessage): void {
    if (id === undefined || id === null) return
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    if (!pending) return
    if (!error) return pending.resolve(result)
    const details = typeof error.data === 'string' ? ` ${error.data}` : ''
    pending.reject(new JsonRpcError(`${error.message ?? `${pending.method} failed`}${details}`, error.code))
  }

  #send(message: object): void {
    if (!this.#closed) this.#channel.send(JSON.stringify({ ...this.#header, ...message }))
  }
}
