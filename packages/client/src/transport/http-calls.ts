import { AskbackError, PROOF_HEADER, retryAfterMsIn, type Backoff } from '@askback/protocol'
import { errorFromResponse, unreachable } from './gateway-errors.js'

/** The part of `fetch` that the transports use. */
export type Fetch = (input: string, init?: RequestInit) => Promise<Response>

export interface HttpCallsOptions {
  /** The address of the gateway; empty for the gateway that served this page. */
  baseUrl: string
  /** Without a token, the browser's login is used: its cookie, and the proof. */
  token?: string | undefined
  /** Called for each request, because another window may have logged in since. */
  proof?: (() => string | null) | undefined
  /** The surface that answers are recorded with: `cli`, `terminal` or `http`. */
  surface?: string | undefined
  fetch?: Fetch | undefined
  backoff: Backoff
}

export interface HttpRequest {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  query?: Record<string, string | number | undefined>
  body?: unknown
  idempotencyKey?: string
  accept?: string
  lastEventId?: number
  signal?: AbortSignal | undefined
}

const MAX_ATTEMPTS = 4
const TIMEOUT_MS = 30_000

/** Sends requests with JSON replies. One that got no reply is sent again under the same idempotency key, so it counts once. */
export class HttpCalls {
  readonly #options: HttpCallsOptions
  readonly #fetch: Fetch
  readonly #base: string

  constructor(options: HttpCallsOptions) {
    this.#options = options
    // A browser's `fetch` throws if it is called as a method of another object.
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init))
    this.#base = `${options.baseUrl.replace(/\/+$/, '')}/api`
  }

  /** Throws `unavailable` after the last attempt, and any other error at once. */
  async json<T>(request: HttpRequest): Promise<T> {
    for (let failures = 0; ;) {
      try {
        return await this.attempt<T>(request)
      } catch (error) {
        failures += 1
        const mayRetry =
          error instanceof AskbackError && error.code === 'unavailable' && failures < MAX_ATTEMPTS
        if (!mayRetry || request.signal?.aborted) throw error
        await this.#options.backoff.wait(failures, request.signal, retryAfterMsIn(error) ?? 0)
      }
    }
  }

  /** One attempt without a timeout, for a response that is read as it comes. */
  async open(request: HttpRequest): Promise<Response> {
    const { method, path, query, signal } = request
    const response = await this.#fetch(`${this.#base}${path}${queryString(query)}`, {
      method,
      headers: this.#headers(request),
      cache: 'no-store',
      ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
      ...(signal && { signal }),
    })
    if (!response.ok) throw await errorFromResponse(response)
    return response
  }

  /** One attempt. Throws `unavailable` if there was no reply in time. */
  async attempt<T>(request: HttpRequest): Promise<T> {
    const { clock } = this.#options.backoff
    const attempt = new AbortController()
    const abort = () => attempt.abort(request.signal?.reason)
    const cancelTimeout = clock.alarm(clock.now() + TIMEOUT_MS, () =>
      attempt.abort(new Error('No answer in time.')),
    )
    request.signal?.addEventListener('abort', abort)
    if (request.signal?.aborted) abort()
    try {
      const response = await this.open({ ...request, signal: attempt.signal })
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the gateway is trusted, so the caller states the type of its reply
      return (await response.json()) as T
    } catch (error) {
      // Also for a body that cannot be read: it may have been cut off.
      throw error instanceof AskbackError ? error : unreachable(error)
    } finally {
      cancelTimeout()
      request.signal?.removeEventListener('abort', abort)
    }
  }

  #headers(request: HttpRequest): Record<string, string> {
    const { body, idempotencyKey, lastEventId, accept = 'application/json' } = request
    return {
      accept,
      ...requestHeaders(this.#options),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      ...(lastEventId !== undefined && { 'last-event-id': String(lastEventId) }),
    }
  }
}

/** The headers that say who makes the request, and on which surface. */
export function requestHeaders({
  token,
  proof,
  surface,
}: Pick<HttpCallsOptions, 'token' | 'proof' | 'surface'>): Record<string, string> {
  const proofToSend = token === undefined ? proof?.() : null
  return {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(proofToSend && { [PROOF_HEADER]: proofToSend }),
    ...(surface !== undefined && { 'askback-surface': surface }),
  }
}

function queryString(query: HttpRequest['query'] = {}): string {
  const given = Object.entries(query).filter((entry) => entry[1] !== undefined)
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
  return search.size === 0 ? '' : `?${search}`
}
