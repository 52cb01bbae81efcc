import {
  AskbackError,
  Backoff,
  type BackoffOptions,
  type CreateSessionBody,
  type Interaction,
  type KindDescription,
  type KindPromptResult,
  type MessageBody,
  type PermissionMode,
  type Session,
  type SessionEvent,
} from '@askback/protocol'
import { HttpCalls, type Fetch, type HttpRequest } from './http-calls.js'
import { readHttpStream } from './http-streams.js'
import { storedProof } from './stored-login.js'
import { endsSession, parseMessage, sessionNotFound, StreamPosition, type WireItem } from './stream-items.js'
import {
  alreadyAnswered,
  cursorOf,
  messageOf,
  randomKey,
  type AgentInfo,
  type FolderInfo,
  type CallOptions,
  type ChangeItem,
  type Cursor,
  type HistoryQuery,
  type InboxPage,
  type MessageRoute,
  type PageQuery,
  type RespondInput,
  type SessionSnapshot,
  type SettleResult,
  type StreamItem,
  type Transport,
} from './transport.js'

export interface HttpTransportOptions extends BackoffOptions {
  /**
   * The address of the gateway, such as `http://127.0.0.1:4100`.
   *
   * @default the gateway that served this page
   */
  baseUrl?: string
  /** A person's token. Without one, the browser's login is used: its cookie and its proof. */
  token?: string
  /**
   * The second secret of a browser login. A cookie alone proves nothing, because it is sent to every port of a host.
   *
   * @default what the gateway's login page has stored, if the gateway served this page
   */
  proof?: () => string | null
  /** @default the global `fetch` */
  fetch?: Fetch
  /** The surface that answers are recorded with. */
  surface?: 'cli' | 'terminal' | 'http'
  /**
   * A stream that brings nothing for this many milliseconds is reconnected. The gateway sends a heartbeat every 15 s.
   *
   * @default 45_000
   */
  stallMs?: number
  /**
   * Makes an idempotency key for a call that has none.
   *
   * @default 128 random bits, in hex
   */
  newKey?: () => string
}

export const STALL_MS = 45_000
const VERIFY_AGAIN_MS = 1000

/**
 * Reaches a gateway over HTTP, with server-sent events for streams.
 *
 * @example
 * const transport = new HttpTransport({ baseUrl: 'http://127.0.0.1:4100', token })
 * const client = createClient(transport)
 */
export class HttpTransport implements Transport {
  protected readonly backoff: Backoff
  /** The proof of the browser login; `null` if a token is used. */
  protected readonly proof: () => string | null
  readonly #calls: HttpCalls
  readonly #stallMs: number
  protected readonly newKey: () => string
  readonly #streams = new Set<AbortController>()
  /** Aborted to make every stream reconnect. */
  #connections = new AbortController()

  constructor(options: HttpTransportOptions = {}) {
    const { baseUrl = '', token, surface, fetch, stallMs = STALL_MS, newKey = randomKey } = options
    const { proof = () => storedProof(baseUrl) } = options
    this.backoff = new Backoff(options)
    this.#calls = new HttpCalls({ baseUrl, token, proof, surface, fetch, backoff: this.backoff })
    this.proof = token === undefined ? proof : () => null
    this.#stallMs = stallMs
    this.newKey = newKey
  }

  async agents(): Promise<AgentInfo[]> {
    const { agents } = await this.#get<{ agents: AgentInfo[] }>('/agents')
    return agents
  }

  async folder(named: string): Promise<FolderInfo | null> {
    try {
      return await this.#get<FolderInfo>('/folders', { path: named })
    } catch (error) {
      if (error instanceof AskbackError && ['not_found', 'forbidden'].includes(error.code)) return null
      throw error
    }
  }

  sessions(query: PageQuery = {}): Promise<{ sessions: Session[]; next: string | null }> {
    return this.#get('/sessions', { ...query })
  }

  async create(body: CreateSessionBody = {}, options?: CallOptions): Promise<Session> {
    const { session } = await this.#write<{ session: Session }>('POST', '/sessions', body, options)
    return session
  }

  snapshot(sessionId: string): Promise<SessionSnapshot> {
    return this.#get(path(sessionId))
  }

  async *events(
    sessionId: string,
    after: Cursor | number,
    signal?: AbortSignal,
  ): AsyncGenerator<StreamItem, undefined> {
    const position = new StreamPosition(cursorOf(after))
    const open = { path: `${path(sessionId)}/events`, query: { log: position.logId } }
    for await (const item of this.#stream(() => ({ ...open, lastEventId: position.seq }), signal)) {
      if (item.type === 'gone' || (item.type === 'event' && !position.advance(item.event))) continue
      yield item
      if (item.type === 'resync') return
      if (item.type === 'event' && endsSession(item.event)) throw sessionNotFound(sessionId)
    }
  }

  history(
    sessionId: string,
    query: HistoryQuery = {},
  ): Promise<{ events: SessionEvent[]; next: number | null }> {
    return this.#get(`${path(sessionId)}/events`, { ...query })
  }

  send(sessionId: string, message: string | MessageBody, options?: CallOptions): Promise<MessageRoute> {
    return this.#write('POST', `${path(sessionId)}/messages`, messageOf(message), options)
  }

  async respond(input: RespondInput, options?: CallOptions): Promise<SettleResult> {
    const { sessionId, interactionId, ...body } = input
    const responsePath = `${path(sessionId, interactionId)}/response`
    try {
      return await this.#write<SettleResult>('POST', responsePath, body, options)
    } catch (error) {
      const settled = alreadyAnswered(error, input.answer)
      if (settled) return settled
      throw error
    }
  }

  async kinds(): Promise<KindDescription[]> {
    const { kinds } = await this.#get<{ kinds: KindDescription[] }>('/kinds')
    return kinds
  }

  prompt(sessionId: string, interactionId: string): Promise<KindPromptResult> {
    return this.#get(`${path(sessionId, interactionId)}/prompt`)
  }

  async cancel(sessionId: string, interactionId: string, options?: CallOptions): Promise<Interaction> {
    const { interaction } = await this.#write<{ interaction: Interaction }>(
      'DELETE',
      path(sessionId, interactionId),
      undefined,
      options,
    )
    return interaction
  }

  async interrupt(sessionId: string, options?: CallOptions): Promise<void> {
    await this.#write('POST', `${path(sessionId)}/interrupt`, {}, options)
  }

  async clear(sessionId: string, options?: CallOptions): Promise<void> {
    await this.#write('POST', `${path(sessionId)}/clear`, {}, options)
  }

  async setPermissionMode(sessionId: string, mode: PermissionMode, options?: CallOptions): Promise<void> {
    await this.#write('POST', `${path(sessionId)}/permission-mode`, { mode }, options)
  }

  async remove(sessionId: string, options?: CallOptions): Promise<void> {
    await this.#write('DELETE', path(sessionId), undefined, options)
  }

  inbox(query: PageQuery = {}): Promise<InboxPage> {
    return this.#get('/interactions', { status: 'pending', ...query })
  }

  async *changes(signal?: AbortSignal): AsyncGenerator<ChangeItem, undefined> {
    for await (const item of this.#stream(() => ({ path: '/events' }), signal)) {
      if (item.type === 'event' || item.type === 'gone' || item.type === 'connection') yield item
    }
  }

  retryNow(): void {
    this.backoff.retryNow()
  }

  /**
   * Asks the gateway, since a browser without a network may still reach a gateway on the same machine. It asks twice, because
   * browsers may report that the network is gone a moment before it is.
   */
  verifyConnection(): void {
    const askTwice = async () => {
      await this.#askGateway()
      await this.backoff.sleep(VERIFY_AGAIN_MS)
      await this.#askGateway()
    }
    askTwice().catch((error: unknown) => {
      // An error of the gateway itself shows that it answers.
      if (!(error instanceof AskbackError)) this.reconnectStreams()
    })
  }

  async #askGateway(): Promise<void> {
    const response = await this.#calls.open({ method: 'GET', path: '/sessions', query: { limit: 1 } })
    await response.body?.cancel()
  }

  /** Makes every stream give up its connection and open another. */
  protected reconnectStreams(): void {
    this.#connections.abort()
    this.#connections = new AbortController()
  }

  close(): void {
    for (const stream of this.#streams) stream.abort()
  }

  async *#stream(
    /** Called for each connection, as the position moves on. */
    target: () => Pick<HttpRequest, 'path' | 'query' | 'lastEventId'>,
    given?: AbortSignal,
  ): AsyncGenerator<WireItem> {
    const stream = new AbortController()
    const abort = () => stream.abort()
    if (given?.aborted) abort()
    given?.addEventListener('abort', abort)
    this.#streams.add(stream)
    const accept = 'text/event-stream'
    try {
      yield* readHttpStream({
        open: (attempt) => {
          const signal = AbortSignal.any([attempt, this.#connections.signal])
          return this.#calls.open({ ...target(), method: 'GET', accept, signal })
        },
        parse: parseMessage,
        backoff: this.backoff,
        stallMs: this.#stallMs,
        signal: stream.signal,
      })
    } finally {
      given?.removeEventListener('abort', abort)
      this.#streams.delete(stream)
    }
  }

  #get<T>(path: string, query?: HttpRequest['query']): Promise<T> {
    return this.#calls.json<T>({ method: 'GET', path, ...(query && { query }) })
  }

  #write<T>(method: 'POST' | 'DELETE', path: string, body: unknown, options: CallOptions = {}): Promise<T> {
    const { idempotencyKey = this.newKey(), signal } = options
    return this.#calls.json<T>({ method, path, body, idempotencyKey, signal })
  }
}

function path(sessionId: string, interactionId?: string): string {
  const session = `/sessions/${encodeURIComponent(sessionId)}`
  return interactionId === undefined
    ? session
    : `${session}/interactions/${encodeURIComponent(interactionId)}`
}
