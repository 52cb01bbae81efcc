/**
 * Asks over HTTP. A call that got no reply, or `unavailable`, is repeated under the same idempotency key, so it counts once. Calls are
 * repeated for as long as a gateway may take to restart, and waits that much longer than the request is open: it is stored, and somebody
 * may still answer it. Waiting is a long poll that claims nothing, followed by one read that claims the settlement (L10): a poll that the gateway still
 * holds for a program that is gone must not claim the approval that its successor waits for.
 */
import {
  AskbackError,
  Backoff,
  durationMs,
  errorCodes,
  retryAfterMsIn,
  type Duration,
  type CreateSessionBody,
  type Interaction,
  type Json,
  type OpenBody,
  type Session,
  type SessionEvent,
  type Timing,
  type ToolResultBody,
} from '@askback/protocol'
import { HttpCalls, type Fetch, type HttpRequest } from '../transport/http-calls.js'
import { HttpTransport } from '../transport/http-transport.js'
import type { ChangeItem, InboxPage, StreamItem } from '../transport/transport.js'
import type { AskingCall, AskingPort, OpenedRequest } from './asking-port.js'

/** A gateway, and how to reach it. */
export interface GatewayTarget extends Timing {
  /** The address of the gateway, such as `http://127.0.0.1:4100`. */
  url: string
  /** An agent's token, to ask; a person's token can also answer. */
  token: string
  /**
   * How long a call is repeated while the gateway cannot be reached, before it throws `unavailable`. Waiting for an answer goes on for that
   * much longer than the timeout of the request, and without a limit if it has none.
   *
   * @default '30s'
   */
  retryFor?: Duration
  /**
   * The longest pause between two attempts.
   *
   * @default '5s'
   */
  maxRetryDelay?: Duration
  /** @default the global `fetch` */
  fetch?: Fetch
}

export const GATEWAY_OPTIONS = [
  'url',
  'token',
  'retryFor',
  'maxRetryDelay',
  'fetch',
  'clock',
  'random',
] as const

/** How long the gateway holds back the reply to one poll. Less than the timeout of a call. */
const HOLD_SECONDS = 20
/** A gateway that is stopping replies to a poll at once; this keeps the polls apart. */
const SHORT_POLL_MS = 300

type InteractionReply = { interaction: Interaction }

export class GatewayPort implements AskingPort {
  readonly #calls: HttpCalls
  readonly #transport: HttpTransport
  readonly #backoff: Backoff
  readonly #retryMs: number

  constructor({ url, token, retryFor = '30s', maxRetryDelay = '5s', fetch, clock, random }: GatewayTarget) {
    const maxMs = durationMs(maxRetryDelay, 'maxRetryDelay') ?? Infinity
    const timing = { maxMs, ...(clock && { clock }), ...(random && { random }) }
    this.#retryMs = durationMs(retryFor, 'retryFor') ?? Infinity
    this.#backoff = new Backoff(timing)
    this.#calls = new HttpCalls({ baseUrl: url, token, fetch, backoff: this.#backoff })
    this.#transport = new HttpTransport({ baseUrl: url, token, ...timing, ...(fetch && { fetch }) })
  }

  async createSession(body: CreateSessionBody, call: AskingCall): Promise<Session> {
    const { session } = await this.#call<{ session: Session }>({
      method: 'POST',
      path: '/sessions',
      body,
      ...call,
    })
    return session
  }

  async open(
    sessionId: string,
    body: OpenBody,
    { claim, ...call }: AskingCall & { claim: boolean },
  ): Promise<OpenedRequest> {
    // With `wait`, a request that was reprompted is followed to the one that is pending now.
    const { interaction } = await this.#call<InteractionReply>({
      method: 'POST',
      path: `${path(sessionId)}/interactions`,
      query: { wait: 0, ...(!claim && { claim: 0 }) },
      body,
      ...call,
    })
    return { interaction, isClaimed: claim && interaction.status === 'settled' }
  }

  async settled(interaction: Interaction, signal: AbortSignal): Promise<Interaction> {
    const { clock } = this.#backoff
    const giveUpAt = this.#giveUpAt(interaction)
    let current = interaction
    for (;;) {
      const askedAt = clock.now()
      const poll = {
        method: 'GET',
        path: pathOf(current),
        query: { wait: HOLD_SECONDS, claim: 0 },
        signal,
      } as const
      current = (await this.#call<InteractionReply>(poll, giveUpAt)).interaction
      if (current.status === 'settled') return current
      if (clock.now() - askedAt < SHORT_POLL_MS) await this.#backoff.sleep(SHORT_POLL_MS, signal)
      signal.throwIfAborted()
    }
  }

  async claim(interaction: Interaction, signal: AbortSignal): Promise<Interaction> {
    const read = { method: 'GET', path: pathOf(interaction), signal } as const
    return (await this.#call<InteractionReply>(read, this.#giveUpAt(interaction))).interaction
  }

  async cancel(
    interaction: Pick<Interaction, 'sessionId' | 'interactionId'>,
    call: AskingCall,
  ): Promise<void> {
    await this.#call({ method: 'DELETE', path: pathOf(interaction), ...call })
  }

  async reportResult(
    { sessionId, toolCallId }: Pick<Interaction, 'sessionId' | 'toolCallId'>,
    result: ToolResultBody,
    call: AskingCall,
  ): Promise<void> {
    const resultPath = `${path(sessionId)}/tool-calls/${encodeURIComponent(toolCallId)}/result`
    await this.#call({ method: 'POST', path: resultPath, body: result, ...call })
  }

  async eventsBefore(sessionId: string, before: number, signal: AbortSignal): Promise<SessionEvent[]> {
    const request = { method: 'GET', path: `${path(sessionId)}/events`, query: { before }, signal } as const
    return (await this.#call<{ events: SessionEvent[] }>(request)).events
  }

  events(sessionId: string, after: number, signal: AbortSignal): AsyncIterable<StreamItem> {
    return this.#transport.events(sessionId, after, signal)
  }

  inbox(after: string | null, signal: AbortSignal): Promise<InboxPage> {
    const query = { status: 'pending', ...(after !== null && { after }) }
    return this.#call({ method: 'GET', path: '/interactions', query, signal })
  }

  changes(signal: AbortSignal): AsyncIterable<ChangeItem> {
    return this.#transport.changes(signal)
  }

  async respond(interaction: Interaction, answer: Json, call: AskingCall): Promise<Interaction> {
    const body = { answer, digest: interaction.digest }
    const request = { method: 'POST', path: `${pathOf(interaction)}/response`, body } as const
    return (await this.#call<InteractionReply>({ ...request, ...call })).interaction
  }

  /** Counted from now, because the clock of the gateway may be another one. */
  #giveUpAt(interaction: Interaction): number {
    return this.#retryUntil() + openMs(interaction)
  }

  #retryUntil(): number {
    return this.#backoff.clock.now() + this.#retryMs
  }

  async #call<Reply>(
    request: HttpRequest & { signal: AbortSignal },
    giveUpAt = this.#retryUntil(),
  ): Promise<Reply> {
    const { signal } = request
    for (let failures = 1; ; failures += 1) {
      signal.throwIfAborted()
      try {
        return await this.#calls.attempt<Reply>(request)
      } catch (error) {
        signal.throwIfAborted()
        if (!mayRetry(error) || this.#backoff.clock.now() >= giveUpAt) throw error
        await this.#backoff.wait(failures, signal, retryAfterMsIn(error) ?? 0)
      }
    }
  }
}

/** For how long a request can be answered. */
function openMs({ requestedAt, expiresAt, onTimeout }: Interaction): number {
  return expiresAt === undefined || onTimeout === 'keep' ? Infinity : expiresAt - requestedAt
}

function mayRetry(error: unknown): boolean {
  return error instanceof AskbackError && errorCodes[error.code].retry !== 'never'
}

function path(sessionId: string): string {
  return `/sessions/${encodeURIComponent(sessionId)}`
}

function pathOf({ sessionId, interactionId }: Pick<Interaction, 'sessionId' | 'interactionId'>): string {
  return `${path(sessionId)}/interactions/${encodeURIComponent(interactionId)}`
}
