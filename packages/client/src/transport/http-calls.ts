import { AskbackError, PROOF_HEADER } from '@askback/protocol'
import type { Pauses } from '../pauses.js'
import { errorFrom, lost, retryAfterIn } from './http-errors.js'

export type Fetch = (input: string, init?: RequestInit) => Promise<Response>

export interface HttpCallsOptions {
  /** Of the gateway; empty for the one that served this page. */
  baseUrl: string
  /** Without one the browser's login speaks: its cookie, and the proof that the page keeps. */
  token?: string | undefined
  /** Read for each request, as another window may have logged in meanwhile. */
  proof?: (() => string | null) | undefined
  /** `cli`, `terminal` or `http`: where a person's answers are said to come from. */
  surface?: string | undefined
  fetch?: Fetch | undefined
  pauses: Pauses
}

export interface Call {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  query?: Record<string, string | number | undefined>
  body?: unknown
  idempotencyKey?: string
  accept?: string
  lastEventId?: number
  signal?: AbortSignal | undefined
}

const ATTEMPTS = 4
const TIMEOUT_MS = 30_000

/** Requests with JSON answers. One that got no answer is sent again, under the same key, so that it counts once. */
export class HttpCalls {
  readonly #options: HttpCallsOptions
  readonly #fetch: Fetch
  readonly #base: string

  constructor(options: HttpCallsOptions) {
    this.#options = options
    // A browser's fetch must be called without another `this`.
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init))
    this.#base = `${options.baseUrl.replace(/\/+$/, '')}/api`
  }

  async json<T>(call: Call): Promise<T> {
    for (let failures = 0; ;) {
      try {
        return await this.#once<T>(call)
      } catch (error) {
        failures += 1
        const mayRetry = error instanceof AskbackError && error.code === 'unavailable' && failures < ATTEMPTS
        if (!mayRetry || call.signal?.aborted) throw error
        await this.#options.pauses.before(failures, call.signal, retryAfterIn(error))
      }
    }
  }

  /** One attempt, for a response that is read as it comes. */
  async open(call: Call): Promise<Response> {
    const { method, path, query, signal } = call
    const response = await this.#fetch(`${this.#base}${path}${queryString(query)}`, {
      method,
      headers: this.#headers(call),
      cache: 'no-store',
      ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
      ...(signal && { signal }),
    })
    if (!response.ok) throw await errorFrom(response)
    return response
  }

  async #once<T>(call: Call): Promise<T> {
    const { clock } = this.#options.pauses
    const attempt = new AbortController()
    const abort = () => attempt.abort(call.signal?.reason)
    const disarm = clock.alarm(clock.now() + TIMEOUT_MS, () => attempt.abort(new Error('No answer in time.')))
    call.signal?.addEventListener('abort', abort)
    if (call.signal?.aborted) abort()
    try {
      const response = await this.open({ ...call, signal: attempt.signal })
      return (await response.json()) as T
    } catch (error) {
      throw error instanceof AskbackError ? error : lost(error)
    } finally {
      disarm()
      call.signal?.removeEventListener('abort', abort)
    }
  }

  #headers({ body, idempotencyKey, lastEventId, accept = 'application/json' }: Call): Record<string, string> {
    return {
      accept,
      ...requestHeaders(this.#options),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      ...(lastEventId !== undefined && { 'last-event-id': String(lastEventId) }),
    }
  }
}

/** Who asks, and from where. */
export function requestHeaders({
  token,
  proof,
  surface,
}: Pick<HttpCallsOptions, 'token' | 'proof' | 'surface'>): Record<string, string> {
  const shown = token === undefined ? proof?.() : null
  return {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(shown && { [PROOF_HEADER]: shown }),
    ...(surface !== undefined && { 'askback-surface': surface }),
  }
}

function queryString(query: Call['query'] = {}): string {
  const given = Object.entries(query).filter((entry) => entry[1] !== undefined)
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
  return search.size === 0 ? '' : `?${search}`
}
