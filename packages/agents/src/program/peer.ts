import { messageIn } from './lines.js'

export type Params = Record<string, unknown>

/** A way for messages, each a text of JSON. */
export interface Channel {
  send(text: string): void
  /** Once, before anything can come. */
  listen(use: (text: string) => void): void
}

export interface PeerHandlers {
  /** Answers what the other side asks; what it throws is told as an error. */
  request(method: string, params: Params): Promise<unknown>
  /** One after the other, in the order they came. */
  notification(method: string, params: Params): Promise<void>
  /** Something went wrong that nobody waits for. */
  failed(error: unknown): void
}

interface Message {
  id?: string | number | null
  method?: string
  params?: Params
  result?: unknown
  error?: { message?: string; code?: number; data?: unknown }
}

interface Waiting {
  resolve: (result: unknown) => void
  reject: (error: Error) => void
}

/** What the other side has refused. */
class PeerError extends Error {
  readonly code: number | undefined

  constructor(method: string, { message, code, data }: NonNullable<Message['error']>) {
    const more = typeof data === 'string' ? ` ${data}` : ''
    super(`${message ?? `${method} failed`}${more}`)
    this.code = code
  }
}

/** Two programs that ask each other things. */
export class Peer {
  readonly #channel: Channel
  readonly #handlers: PeerHandlers
  readonly #stamp: object
  readonly #waiting = new Map<string | number, Waiting>()
  #lastId = 0
  #handled: Promise<void> = Promise.resolve()
  #closed: Error | null = null

  /** `stamp` goes into every message: some dialects want `jsonrpc`, others none of it. */
  constructor(channel: Channel, handlers: PeerHandlers, stamp: { jsonrpc?: '2.0' } = {}) {
    this.#channel = channel
    this.#handlers = handlers
    this.#stamp = stamp
    channel.listen((text) => this.#read(text))
  }

  request<Result>(method: string, params: object): Promise<Result> {
    if (this.#closed) return Promise.reject(this.#closed)
    const id = ++this.#lastId
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as Waiting['resolve'], reject })
      this.#write({ id, method, params })
    })
  }

  notify(method: string, params?: object): void {
    this.#write({ method, ...(params && { params }) })
  }

  /** Resolves when everything that has come so far is handled. */
  get settled(): Promise<void> {
    return this.#handled
  }

  /** Nothing more will come: whoever waits is told why. */
  close(why: string): void {
    this.#closed ??= new Error(why)
    for (const { reject } of this.#waiting.values()) reject(this.#closed)
    this.#waiting.clear()
  }

  #read(text: string): void {
    const message = messageIn<Message>(text)
    if (!message) return
    const { id, method, params = {} } = message
    if (method === undefined) return this.#answered(message)
    if (id === undefined || id === null) {
      this.#handled = this.#handled
        .then(() => this.#handlers.notification(method, params))
        .catch((error: unknown) => this.#handlers.failed(error))
      return
    }
    // Asked once what came before is handled; what comes after does not wait for the answer.
    this.#handled
      .then(() => this.#handlers.request(method, params))
      .then(
        (result) => this.#write({ id, result }),
        (error: unknown) => this.#write({ id, error: { code: -32000, message: messageOf(error) } }),
      )
      .catch((error: unknown) => this.#handlers.failed(error))
  }

  #answered(message: Message): void {
    const { id, error, result } = message
    if (id === undefined || id === null) return
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (error) waiting?.reject(new PeerError(String(id), error))
    else waiting?.resolve(result)
  }

  #write(message: object): void {
    if (!this.#closed) this.#channel.send(JSON.stringify({ ...this.#stamp, ...message }))
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
