import { createClient, HttpTransport, type Client, type SessionStore } from '@askback/client'
import type { ConnectorDesk, PersonActions } from '@askback/connectors'
import { memoryStore, type Change, type Kv } from '@askback/core'
import {
  AskbackError,
  pendingOf,
  sessionOf,
  type Interaction,
  type KindPromptResult,
  type MessageBody,
  type Session,
  type SessionEvent,
  type SessionState,
} from '@askback/protocol'
import { setTimeout as pause } from 'node:timers/promises'
import type { GatewayConnection } from './reach/connection.js'
import type { GatewayClient } from './reach/gateway-client.js'

/** How many events are printed when the terminal attaches. */
const RECENT_EVENTS = 40
/** The pause before a new connection, if the gateway refused the token. */
const RECONNECT_AFTER_MS = 500

export interface AttachedDeskOptions {
  gateway: GatewayClient
  /** Finds the gateway, which may have another address and token after a restart. */
  connect: () => GatewayConnection
  /** Tells the person that the gateway is away or back. */
  say: (text: string) => void
  /** Aborts all calls, closes the connection and ends `follow`. */
  signal: AbortSignal
}

/**
 * One session of a running gateway as a connector sees it. The client's session store folds the log and follows it through lost
 * connections; its changes are the doorbell. On a doorbell the connector reads the events after its cursor, as from any store,
 * with the gateway's history. A cursor is `logId:seq`, so that it cannot be mistaken for a position in another log.
 */
export class AttachedDesk implements ConnectorDesk {
  /** In memory: what is shown ends with the terminal. */
  readonly kv: Kv = memoryStore().kv
  readonly #sessionId: string
  readonly #options: AttachedDeskOptions
  readonly #listeners = new Set<() => void>()
  #client: Client
  #store: SessionStore
  /** The last state of a store. A new connection begins without a state. */
  #lastState: SessionState | null = null
  /** The position at which the terminal attached. */
  #start: { logId: string; seq: number } | null = null
  #isAway = false

  constructor(sessionId: string, options: AttachedDeskOptions) {
    this.#sessionId = sessionId
    this.#options = options
    this.#client = this.#createClient()
    this.#store = this.#client.session(sessionId)
    options.signal.addEventListener('abort', () => this.#client.close())
  }

  /** Resolves when the session is loaded. Rejects if the gateway refuses it. */
  async open(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const unsubscribe = this.#store.subscribe(() => {
        const { state, error } = this.#update()
        if (!state && !error) return
        // The store continues to run for a while without listeners, until `follow` subscribes.
        unsubscribe()
        if (error) reject(error)
        else resolve()
      })
    })
    const { logId, seq } = this.#state
    this.#start = { logId, seq }
  }

  /** The last events before the terminal attached, oldest first. */
  async recent(): Promise<SessionEvent[]> {
    return this.#history(`before=${(this.#start?.seq ?? 0) + 1}&limit=${RECENT_EVENTS}`)
  }

  /** Follows the session until `signal` aborts. Rejects if the session was deleted, or may no longer be read. */
  async follow(): Promise<void> {
    const { signal } = this.#options
    for (;;) {
      const error = await this.#storeFailed(signal)
      if (!error || signal.aborted) return
      if (error.code !== 'unauthorized') throw error
      // A restarted gateway has another token for commands on this machine.
      this.#client.close()
      await pause(RECONNECT_AFTER_MS, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      this.#client = this.#createClient()
      this.#store = this.#client.session(this.#sessionId)
    }
  }

  head(): Promise<string> {
    const { logId, seq } = this.#start ?? this.#state
    return Promise.resolve(`${logId}:${seq}`)
  }

  async changes({ after, limit }: { after: string; limit: number }): Promise<Change[]> {
    const sessionId = this.#sessionId
    const { logId, seq } = this.#state
    const separator = after.lastIndexOf(':')
    const afterSeq = Number(after.slice(separator + 1))
    // The session was deleted and created again: its cards are checked, and the new log is read from its beginning.
    if (after.slice(0, separator) !== logId) return [{ cursor: `${logId}:0`, sessionId, events: [] }]
    if (afterSeq >= seq) return []
    const events = await this.#history(`after=${afterSeq}&limit=${limit}`)
    return (
      events
        // The rest follows with the next doorbell: a card is drawn from the state, which must contain the event.
        .filter((event) => event.seq <= seq)
        .map((event) => ({ cursor: `${logId}:${event.seq}`, sessionId, events: [event] }))
    )
  }

  onAppend(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  pending(): Promise<Interaction[]> {
    return Promise.resolve(pendingOf(this.#state))
  }

  async interaction(_sessionId: string, interactionId: string): Promise<Interaction> {
    const known = this.#state.interactions.get(interactionId)
    if (known) return known
    const path = `${this.#path}/interactions/${encodeURIComponent(interactionId)}`
    const { gateway } = this.#options
    return (await gateway.json<{ interaction: Interaction }>({ method: 'GET', path })).interaction
  }

  async prompt(_sessionId: string, interactionId: string): Promise<KindPromptResult> {
    const { gateway, signal } = this.#options
    const path = `${this.#path}/interactions/${encodeURIComponent(interactionId)}/prompt`
    return gateway.json<KindPromptResult>({ method: 'GET', path, signal })
  }

  session(): Promise<Session> {
    return Promise.resolve(sessionOf(this.#state))
  }

  async sessions(): Promise<Session[]> {
    return [await this.session()]
  }

  /** The gateway knows the person by the token of the connection, so the name that the terminal passes is not sent. */
  as(): PersonActions {
    const post = async (path: string, body: unknown): Promise<void> => {
      await this.#post(path, body)
    }
    const pathOf = (interactionId: string) => `/interactions/${encodeURIComponent(interactionId)}`
    return {
      respond: ({ interactionId, answer, digest }) =>
        post(`${pathOf(interactionId)}/response`, { answer, digest }),
      progress: ({ interactionId, answers }) => post(`${pathOf(interactionId)}/progress`, { answers }),
      message: ({ text, route, interactionId, questionIndex }) => {
        const body: MessageBody = {
          text,
          ...(route !== undefined && { route }),
          ...(interactionId !== undefined && { interactionId }),
          ...(questionIndex !== undefined && { questionIndex }),
        }
        return this.#post('/messages', body)
      },
      createSession: () =>
        Promise.reject(new AskbackError('invalid_request', 'This terminal is attached to one session.')),
      interrupt: () => post('/interrupt', {}),
      clear: () => post('/clear', {}),
      setPermissionMode: (_sessionId, mode) => post('/permission-mode', { mode }),
    }
  }

  /** A page of the log. Empty if `signal` aborts, so that leaving does not wait for a gateway that is away. */
  async #history(query: string): Promise<SessionEvent[]> {
    const { gateway, signal } = this.#options
    const headers = { accept: 'application/json' }
    const call = { method: 'GET', path: `${this.#path}/events?${query}`, headers, signal } as const
    try {
      return (await gateway.json<{ events: SessionEvent[] }>(call)).events
    } catch (error) {
      if (signal.aborted) return []
      throw error
    }
  }

  get #path(): string {
    return `/api/sessions/${encodeURIComponent(this.#sessionId)}`
  }

  get #state(): SessionState {
    if (!this.#lastState) throw new AskbackError('internal', 'The session was not loaded yet.')
    return this.#lastState
  }

  #createClient(): Client {
    const { url, token } = this.#options.connect()
    return createClient(new HttpTransport({ baseUrl: url, token, surface: 'terminal' }))
  }

  /** Resolves to the error that ended the store, or to `null` when `signal` aborts. */
  #storeFailed(signal: AbortSignal): Promise<AskbackError | null> {
    return new Promise((resolve) => {
      const end = (error: AskbackError | null) => {
        unsubscribe()
        signal.removeEventListener('abort', abort)
        resolve(error)
      }
      const abort = () => end(null)
      const unsubscribe = this.#store.subscribe(() => {
        const { error } = this.#update()
        if (error) end(error)
      })
      signal.addEventListener('abort', abort)
      // Something may have changed while nobody listened.
      const { error } = this.#update()
      if (error) end(error)
    })
  }

  /** Takes over what the store knows, and rings the doorbell if the log has grown or is another one. */
  #update(): { state: SessionState | null; error: AskbackError | null } {
    const { state, error, connection } = this.#store.getSnapshot()
    const before = this.#lastState
    if (state) this.#lastState = state
    if (connection === 'live' || connection === 'offline') this.#setAway(connection === 'offline')
    if (state && (state.seq !== before?.seq || state.logId !== before.logId))
      for (const listener of this.#listeners) listener()
    return { state, error }
  }

  #setAway(isAway: boolean): void {
    if (isAway === this.#isAway) return
    this.#isAway = isAway
    this.#options.say(
      isAway ? 'The gateway is away. What waits can be answered when it is back.' : 'The gateway is back.',
    )
  }

  async #post<Answer>(path: string, body: unknown): Promise<Answer> {
    const { gateway, signal } = this.#options
    const headers = { 'askback-surface': 'terminal' }
    const call = { method: 'POST', path: `${this.#path}${path}`, body, headers } as const
    const answer = await gateway.json<Answer>({ ...call, signal })
    // The gateway is back, so its result must not wait for the next attempt of the stream.
    if (this.#isAway) this.#client.reconnect()
    return answer
  }
}
