import {
  AskbackError,
  type CreateSessionBody,
  type Interaction,
  type MessageBody,
  type PermissionMode,
  type Session,
  type SessionEvent,
} from '@askback/protocol'
import { Pauses, type Timing } from '../pauses.js'
import { randomKey } from '../random-key.js'
import { follow } from './follow.js'
import { storedProof } from '../stored-login.js'
import { HttpCalls, type Call, type Fetch } from './http-calls.js'
import { ownAnswer } from './own-answer.js'
import {
  cursorOf,
  messageOf,
  type AgentInfo,
  type CallOptions,
  type ChangeItem,
  type Cursor,
  type HistoryQuery,
  type InboxPage,
  type PageQuery,
  type RespondInput,
  type Routed,
  type SessionSnapshot,
  type Settled,
  type StreamItem,
  type Transport,
} from './transport.js'
import { endsSession, gone, parseMessage, Place } from './wire-items.js'

export interface HttpTransportOptions extends Timing {
  /** Of the gateway, such as `http://127.0.0.1:4100`; without one, the gateway that served this page. */
  baseUrl?: string
  /** A person's. Without one the browser's login speaks: its cookie and its proof. */
  token?: string
  /**
   * The second half of a browser login, which cookies cannot be: they reach every port of a host.
   *
   * @default what the login page of the gateway has stored, if the gateway served this page
   */
  proof?: () => string | null
  fetch?: Fetch
  /** Where answers are said to come from. */
  surface?: 'cli' | 'terminal' | 'http'
  /** Without a byte for so long a stream is taken for dead. */
  stallMs?: number
  newKey?: () => string
}

export const STALL_MS = 45_000
const LOOK_AGAIN_MS = 1000

/** A gateway over HTTP, with server-sent events. */
export class HttpTransport implements Transport {
  protected readonly pauses: Pauses
  /** Of the browser login; `null` where a token speaks. */
  protected readonly proof: () => string | null
  readonly #calls: HttpCalls
  readonly #stallMs: number
  protected readonly newKey: () => string
  readonly #streams = new Set<AbortController>()
  #connected = new AbortController()

  constructor(options: HttpTransportOptions = {}) {
    const { baseUrl = '', token, surface, fetch, stallMs = STALL_MS, newKey = randomKey } = options
    const { proof = () => storedProof(baseUrl) } = options
    this.pauses = new Pauses(options)
    this.#calls = new HttpCalls({ baseUrl, token, proof, surface, fetch, pauses: this.pauses })
    this.proof = token === undefined ? proof : () => null
    this.#stallMs = stallMs
    this.newKey = newKey
  }

  async agents(): Promise<AgentInfo[]> {
    const { agents } = await this.#get<{ agents: AgentInfo[] }>('/agents')
    return agents
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
    const place = new Place(cursorOf(after))
    const open = { path: `${path(sessionId)}/events`, query: { log: place.logId } }
    for await (const item of this.#follow(() => ({ ...open, lastEventId: place.seq }), signal)) {
      if (item.type === 'event' && !place.take(item.event)) continue
      yield item
      if (item.type === 'resync') return
      if (item.type === 'event' && endsSession(item.event)) throw gone(sessionId)
    }
  }

  history(
    sessionId: string,
    query: HistoryQuery = {},
  ): Promise<{ events: SessionEvent[]; next: number | null }> {
    return this.#get(`${path(sessionId)}/events`, { ...query })
  }

  send(sessionId: string, message: string | MessageBody, options?: CallOptions): Promise<Routed> {
    return this.#write('POST', `${path(sessionId)}/messages`, messageOf(message), options)
  }

  async respond(input: RespondInput, options?: CallOptions): Promise<Settled> {
    const { sessionId, interactionId, ...body } = input
    const at = `${path(sessionId, interactionId)}/response`
    try {
      return await this.#write<Settled>('POST', at, body, options)
    } catch (error) {
      const own = ownAnswer(error, input.answer)
      if (own) return own
      throw error
    }
  }

  async cancel(sessionId: string, interactionId: string, options?: CallOptions): Promise<Interaction> {
    const at = path(sessionId, interactionId)
    const { interaction } = await this.#write<{ interaction: Interaction }>('DELETE', at, undefined, options)
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
    for await (const item of this.#follow(() => ({ path: '/events' }), signal)) {
      if (item.type === 'event' || item.type === 'connection') yield item
    }
  }

  wake(): void {
    this.pauses.wake()
  }

  /** A browser without a network may still reach a gateway on the same machine: only the gateway can tell. */
  doubt(): void {
    this.#lookTwice().catch((error: unknown) => {
      if (!(error instanceof AskbackError)) this.lose()
    })
  }

  /** Browsers may say that the network is gone a moment before it is. */
  async #lookTwice(): Promise<void> {
    await this.#look()
    await this.pauses.pause(LOOK_AGAIN_MS)
    await this.#look()
  }

  async #look(): Promise<void> {
    const response = await this.#calls.open({ method: 'GET', path: '/sessions', query: { limit: 1 } })
    await response.body?.cancel()
  }

  /** Every stream ends its connection, and opens another. */
  protected lose(): void {
    this.#connected.abort()
    this.#connected = new AbortController()
  }

  close(): void {
    for (const stream of this.#streams) stream.abort()
  }

  async *#follow(
    target: () => Pick<Call, 'path' | 'query' | 'lastEventId'>,
    given?: AbortSignal,
  ): AsyncGenerator<StreamItem> {
    const stream = new AbortController()
    const abort = () => stream.abort()
    if (given?.aborted) abort()
    given?.addEventListener('abort', abort)
    this.#streams.add(stream)
    const accept = 'text/event-stream'
    try {
      yield* follow({
        open: (attempt) => {
          const signal = AbortSignal.any([attempt, this.#connected.signal])
          return this.#calls.open({ ...target(), method: 'GET', accept, signal })
        },
        parse: parseMessage,
        pauses: this.pauses,
        stallMs: this.#stallMs,
        signal: stream.signal,
      })
    } finally {
      given?.removeEventListener('abort', abort)
      this.#streams.delete(stream)
    }
  }

  #get<T>(path: string, query?: Call['query']): Promise<T> {
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
