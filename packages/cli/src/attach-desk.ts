import { HttpTransport } from '@askback/client'
import type { ConnectorDesk } from '@askback/connectors'
import { memoryStore, type Change, type Kv } from '@askback/core'
import {
  AskbackError,
  fold,
  pendingOf,
  sessionOf,
  stateFromJson,
  type Interaction,
  type MessageBody,
  type Session,
  type SessionEvent,
  type SessionState,
} from '@askback/protocol'
import { setTimeout as pause } from 'node:timers/promises'
import type { Connection } from './reach/connection.js'
import type { Gateway } from './reach/gateway.js'

const RECENT = 40
const KEPT = 1000
const PAUSE_MS = 500

export interface AttachedOptions {
  gateway: Gateway
  connect: () => Connection
  say: (text: string) => void
  /** Ends all that is under way. */
  signal: AbortSignal
}

/** One session of a running gateway, as a connector in this process sees it. */
export class AttachedDesk implements ConnectorDesk {
  /** What is shown goes with the terminal. */
  readonly kv: Kv = memoryStore().kv
  readonly #sessionId: string
  readonly #gateway: Gateway
  readonly #connect: () => Connection
  readonly #say: (text: string) => void
  readonly #signal: AbortSignal
  readonly #listeners = new Set<() => void>()
  #changes: Change[] = []
  #count = 0
  #state: SessionState | null = null
  #isAway = false
  #streaming: HttpTransport | null = null

  constructor(sessionId: string, { gateway, connect, say, signal }: AttachedOptions) {
    this.#sessionId = sessionId
    this.#gateway = gateway
    this.#connect = connect
    this.#say = say
    this.#signal = signal
  }

  async open(): Promise<void> {
    await this.#load(this.#transport())
  }

  /** The last of what happened, oldest first. */
  async recent(): Promise<SessionEvent[]> {
    const before = this.#folded.seq + 1
    return (await this.#transport().history(this.#sessionId, { before, limit: RECENT })).events
  }

  /** What happens from now on, through restarts of the gateway. */
  async follow(): Promise<void> {
    const signal = this.#signal
    while (!signal.aborted) {
      const transport = this.#transport()
      this.#streaming = transport
      try {
        await this.#stream(transport, signal)
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof AskbackError && (error.code === 'not_found' || error.code === 'forbidden'))
          throw error
        // A gateway that starts anew has another token for us.
        await pause(PAUSE_MS, undefined, { signal }).catch(() => undefined)
      } finally {
        transport.close()
      }
    }
  }

  head(): Promise<string> {
    return Promise.resolve(String(this.#count))
  }

  changes({ after, limit }: { after: string; limit: number }): Promise<Change[]> {
    return Promise.resolve(
      this.#changes.filter(({ cursor }) => Number(cursor) > Number(after)).slice(0, limit),
    )
  }

  onAppend(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  pending(): Promise<Interaction[]> {
    return Promise.resolve(pendingOf(this.#folded))
  }

  async interaction(_sessionId: string, interactionId: string): Promise<Interaction> {
    const known = this.#folded.interactions.get(interactionId)
    if (known) return known
    const path = `${this.#path}/interactions/${encodeURIComponent(interactionId)}`
    return (await this.#gateway.json<{ interaction: Interaction }>({ method: 'GET', path })).interaction
  }

  async respond(input: Parameters<ConnectorDesk['respond']>[0]): Promise<void> {
    const { interactionId, answer, digest } = input
    await this.#post(`/interactions/${encodeURIComponent(interactionId)}/response`, { answer, digest })
  }

  async progress(input: Parameters<ConnectorDesk['progress']>[0]): Promise<void> {
    const { interactionId, answers } = input
    await this.#post(`/interactions/${encodeURIComponent(interactionId)}/progress`, { answers })
  }

  message(input: Parameters<ConnectorDesk['message']>[0]): ReturnType<ConnectorDesk['message']> {
    const { text, route, interactionId, questionIndex } = input
    const body: MessageBody = {
      text,
      ...(route !== undefined && { route }),
      ...(interactionId !== undefined && { interactionId }),
      ...(questionIndex !== undefined && { questionIndex }),
    }
    return this.#post('/messages', body)
  }

  session(): Promise<Session> {
    return Promise.resolve(sessionOf(this.#folded))
  }

  async sessions(): Promise<Session[]> {
    return [await this.session()]
  }

  createSession(): Promise<never> {
    return Promise.reject(new AskbackError('invalid_request', 'This terminal is attached to one session.'))
  }

  async interrupt(): Promise<void> {
    await this.#post('/interrupt', {})
  }

  async clear(): Promise<void> {
    await this.#post('/clear', {})
  }

  async setPermissionMode(_sessionId: string, mode: string): Promise<void> {
    await this.#post('/permission-mode', { mode })
  }

  get #path(): string {
    return `/api/sessions/${encodeURIComponent(this.#sessionId)}`
  }

  get #folded(): SessionState {
    if (!this.#state) throw new AskbackError('internal', 'The session was not read yet.')
    return this.#state
  }

  async #post<Answer>(path: string, body: unknown): Promise<Answer> {
    const headers = { 'askback-surface': 'terminal' }
    const call = { method: 'POST', path: `${this.#path}${path}`, body, headers } as const
    const answer = await this.#gateway.json<Answer>({ ...call, signal: this.#signal })
    // What came of it should not wait for the next attempt of the stream.
    if (this.#isAway) this.#streaming?.retryNow()
    return answer
  }

  #transport(): HttpTransport {
    const { url, token } = this.#connect()
    return new HttpTransport({ baseUrl: url, token, surface: 'terminal' })
  }

  async #load(transport: HttpTransport): Promise<void> {
    this.#state = stateFromJson((await transport.snapshot(this.#sessionId)).state)
  }

  async #stream(transport: HttpTransport, signal: AbortSignal): Promise<void> {
    const { seq, logId } = this.#folded
    for await (const item of transport.events(this.#sessionId, { seq, logId }, signal)) {
      if (item.type === 'event') await this.#take(transport, item.event)
      if (item.type === 'resync') await this.#load(transport)
      if (item.type === 'connection') this.#tellConnection(item.status)
    }
  }

  #tellConnection(status: 'live' | 'offline'): void {
    const isAway = status === 'offline'
    if (isAway === this.#isAway) return
    this.#isAway = isAway
    this.#say(
      isAway ? 'The gateway is away. What waits can be answered when it is back.' : 'The gateway is back.',
    )
  }

  async #take(transport: HttpTransport, event: SessionEvent): Promise<void> {
    const { seq } = this.#folded
    if (event.seq <= seq) return
    const missing =
      event.seq > seq + 1 ? (await transport.history(this.#sessionId, { after: seq })).events : [event]
    this.#state = fold(this.#folded, missing)
    this.#tell(missing.filter((each) => each.seq > seq))
  }

  #tell(events: SessionEvent[]): void {
    const sessionId = this.#sessionId
    for (const event of events)
      this.#changes.push({ cursor: String(++this.#count), sessionId, events: [event] })
    this.#changes = this.#changes.slice(-KEPT)
    for (const listener of this.#listeners) listener()
  }
}
