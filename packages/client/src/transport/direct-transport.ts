import type {
  Actor,
  CreateSessionBody,
  Interaction,
  MessageBody,
  PermissionMode,
  Session,
  SessionEvent,
} from '@askback/protocol'
import { randomKey } from '../random-key.js'
import { copy, crossed, crossing } from './crossing.js'
import { directChanges, directEvents } from './direct-events.js'
import type { DirectHost } from './direct-host.js'
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

export interface DirectTransportOptions {
  /** Whose doing everything is. */
  actor: Actor
  newKey?: () => string
}

const MOST = 1000

/** A host in the same process. What crosses is copied, as a wire would do: neither side can change the other's. */
export class DirectTransport implements Transport {
  readonly #host: DirectHost
  readonly #actor: Actor
  readonly #newKey: () => string
  readonly #streams = new Set<AbortController>()

  constructor(host: DirectHost, { actor, newKey = randomKey }: DirectTransportOptions) {
    this.#host = host
    this.#actor = { ...actor }
    this.#newKey = newKey
  }

  agents(): Promise<AgentInfo[]> {
    return crossing(() => this.#host.agents())
  }

  sessions(query: PageQuery = {}): Promise<{ sessions: Session[]; next: string | null }> {
    return crossing(async () => {
      const { items: sessions, next } = await this.#host.desk.sessions(copy(query))
      return { sessions, next }
    })
  }

  async create(body: CreateSessionBody = {}, options?: CallOptions): Promise<Session> {
    const origin = this.#origin('create', options)
    const { session } = await crossing(() => this.#host.createSession({ ...copy(body), ...origin }))
    return session
  }

  snapshot(sessionId: string): Promise<SessionSnapshot> {
    return crossing(() => this.#host.snapshot(sessionId))
  }

  events(
    sessionId: string,
    after: Cursor | number,
    signal?: AbortSignal,
  ): AsyncGenerator<StreamItem, undefined> {
    const cursor = { ...cursorOf(after) }
    return this.#stream((aborted) => directEvents(this.#host, sessionId, cursor, aborted), signal)
  }

  history(
    sessionId: string,
    query: HistoryQuery = {},
  ): Promise<{ events: SessionEvent[]; next: number | null }> {
    return crossing(async () => {
      const { after = 0, before, limit = MOST } = query
      const asked = before === undefined ? { after } : { after, before }
      const events = await this.#host.desk.events(sessionId, { ...asked, limit: limit + 1 })
      const isWhole = events.length <= limit
      if (before === undefined) {
        const page = events.slice(0, limit)
        return { events: page, next: isWhole ? null : page.at(-1)!.seq }
      }
      const page = events.slice(-limit)
      return { events: page, next: isWhole ? null : page[0]!.seq }
    })
  }

  send(sessionId: string, message: string | MessageBody, options?: CallOptions): Promise<Routed> {
    const origin = this.#origin('send', options)
    return crossing(() => this.#host.message({ ...copy(messageOf(message)), sessionId, ...origin }))
  }

  async respond(input: RespondInput, options?: CallOptions): Promise<Settled> {
    const origin = this.#origin('respond', options)
    try {
      return await crossing(() => this.#host.desk.respond({ ...input, ...origin }))
    } catch (error) {
      const own = ownAnswer(error, input.answer)
      if (own) return own
      throw error
    }
  }

  async cancel(sessionId: string, interactionId: string, options?: CallOptions): Promise<Interaction> {
    const origin = this.#origin('cancel', options)
    const asked = { sessionId, interactionId, ...origin }
    return (await crossing(() => this.#host.desk.cancel(asked))).interaction
  }

  async interrupt(sessionId: string, options?: CallOptions): Promise<void> {
    await crossing(() => this.#host.interrupt(sessionId, this.#origin('interrupt', options)))
  }

  async clear(sessionId: string, options?: CallOptions): Promise<void> {
    await crossing(() => this.#host.clear(sessionId, this.#origin('clear', options)))
  }

  async setPermissionMode(sessionId: string, mode: PermissionMode, options?: CallOptions): Promise<void> {
    const origin = this.#origin('set_mode', options)
    await crossing(() => this.#host.setPermissionMode(sessionId, mode, origin))
  }

  async remove(sessionId: string, options?: CallOptions): Promise<void> {
    await crossing(() => this.#host.deleteSession(sessionId, this.#origin('remove', options)))
  }

  inbox(query: PageQuery = {}): Promise<InboxPage> {
    return crossing(() => this.#host.desk.inbox(copy(query)))
  }

  changes(signal?: AbortSignal): AsyncGenerator<ChangeItem, undefined> {
    return this.#stream((aborted) => directChanges(this.#host, aborted), signal)
  }

  wake(): void {
    // Nothing here waits for a network.
  }

  close(): void {
    for (const stream of this.#streams) stream.abort()
  }

  async *#stream<T>(
    open: (signal: AbortSignal) => AsyncIterable<T>,
    given?: AbortSignal,
  ): AsyncGenerator<T, undefined> {
    const stream = new AbortController()
    const abort = () => stream.abort()
    if (given?.aborted) return
    given?.addEventListener('abort', abort)
    this.#streams.add(stream)
    try {
      for await (const item of open(stream.signal)) yield copy(item)
    } catch (error) {
      throw crossed(error)
    } finally {
      given?.removeEventListener('abort', abort)
      this.#streams.delete(stream)
    }
  }

  /** A key counts for one kind of call of one person, as over HTTP. */
  #origin(call: string, { idempotencyKey = this.#newKey() }: CallOptions = {}) {
    const by = this.#actor
    return { by, via: 'direct' as const, idempotencyKey: `direct/${call}/${by.id}/${idempotencyKey}` }
  }
}
