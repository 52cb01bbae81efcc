import { AskbackError, errorCodes, type ErrorBody, type ErrorCode } from '@askback/protocol/errors'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { findConnection, type Connection, type Role, type Where } from './connection.js'
import { exchange, type Request, type Response } from './exchange.js'
import { withHint } from './hints.js'

const STALL_MS = 15_000
/** How long one that restarts may take before a command gives up on a call of its own. */
const PATIENCE_MS = 30_000
const LONGEST_PAUSE_MS = 2000
/** Nothing was sent: nobody is there. */
const NOBODY = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPERM',
  'EACCES',
])

/** Codex sets it for commands whose sandbox has no network. */
const NO_NETWORK = 'CODEX_SANDBOX_NETWORK_DISABLED'

/** Trying again would not help. */
const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
])

export interface Call {
  method: Request['method']
  path: string
  body?: unknown
  lines?: unknown[]
  headers?: Record<string, string>
  /** Seconds that the gateway may hold the answer back. */
  holds?: number
  /** Until when a gateway that went away is waited for; `null` for ever. */
  until?: number | null
  signal?: AbortSignal | undefined
}

export interface GatewayOptions {
  env: NodeJS.ProcessEnv
  say?: (text: string) => void
  /** Without a byte for so long a call is taken for lost, beyond what the gateway may hold it back. */
  stallMs?: number
  /** How long one that restarts is waited for. */
  patienceMs?: number
}

/** The gateway, through its restarts. What is sent again carries the same key, so that it counts once. */
export class Gateway {
  readonly #role: Role
  readonly #connect: () => Connection
  readonly #say: (text: string) => void
  readonly #stallMs: number
  readonly #patienceMs: number
  readonly #isSandboxed: boolean
  #reached: Connection | null = null

  constructor(role: Role, where: Where, options: GatewayOptions) {
    const { env, say = () => undefined, stallMs = STALL_MS, patienceMs = PATIENCE_MS } = options
    this.#role = role
    this.#connect = () => findConnection(role, where, env)
    this.#say = say
    this.#stallMs = stallMs
    this.#patienceMs = patienceMs
    this.#isSandboxed = Boolean(env[NO_NETWORK])
  }

  /** Where it was reached last. */
  get url(): string {
    return (this.#reached ?? this.#connect()).url
  }

  async json<Answer>(call: Call): Promise<Answer> {
    return JSON.parse(await this.text(call)) as Answer
  }

  async text(call: Call): Promise<string> {
    const key = randomUUID()
    const { until = Date.now() + this.#patienceMs, signal } = call
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.#once(call, key)
      } catch (error) {
        const again = this.#mayTryAgain(error) && (until === null || Date.now() < until)
        if (!again || signal?.aborted) throw this.#reachable(error)
        if (failures === 2) this.#say(whyAgain(error))
        const left = until === null ? Infinity : until - Date.now()
        await pause(Math.min(pauseOf(error, failures), left), undefined, signal && { signal })
      }
    }
  }

  async #once({ method, path, body, lines, headers, holds = 0, signal }: Call, key: string): Promise<string> {
    const connection = this.#connection()
    const response = await exchange({
      method,
      url: new URL(path, connection.url),
      headers: {
        authorization: `Bearer ${connection.token}`,
        'askback-surface': 'cli',
        ...(method !== 'GET' && { 'idempotency-key': key }),
        ...headers,
      },
      ...(body !== undefined && { body }),
      lines,
      stallMs: holds * 1000 + this.#stallMs,
      signal,
    }).catch((error: unknown) => {
      // Cut off in the middle: somebody was there, and may come back.
      if (!NOBODY.has(codeOf(error))) this.#reached = connection
      throw error
    })
    if (response.status >= 400) throw withHint(errorOf(response), { role: this.#role, path, body })
    this.#reached = connection
    return response.text
  }

  /** One that restarts announces itself again, perhaps at another address and with another token. */
  #connection(): Connection {
    try {
      return this.#connect()
    } catch (error) {
      if (this.#reached && error instanceof AskbackError && error.code === 'unavailable') return this.#reached
      throw error
    }
  }

  #reachable(error: unknown): unknown {
    if (error instanceof AskbackError || (error instanceof Error && error.name === 'AbortError')) return error
    if (UNTRUSTED.has(codeOf(error))) return untrusted(error)
    const isNobody = NOBODY.has(codeOf(error))
    const why = isNobody ? '' : ` (${codeOf(error) || String(error)})`
    const message =
      isNobody && this.#isSandboxed
        ? 'Codex’s sandbox blocks the network, so this command cannot reach Askback. Run it outside the sandbox, or set agents.codex.networkAccess to true in the config.json of Askback.'
        : `The gateway cannot be reached${why}. Is askback serve running?`
    return new AskbackError('unavailable', message, { cause: error })
  }

  #mayTryAgain(error: unknown): boolean {
    if (error instanceof AskbackError) {
      if (error.code === 'unavailable') return this.#reached !== null || isAnswer(error)
      // It may just have started anew and not have announced its new token yet.
      return error.code === 'unauthorized' && this.#reached !== null
    }
    if (UNTRUSTED.has(codeOf(error))) return false
    return this.#reached !== null || !NOBODY.has(codeOf(error))
  }
}

function untrusted(error: unknown): AskbackError {
  const message = `The certificate of the gateway is not trusted here (${codeOf(error)}). Set NODE_EXTRA_CA_CERTS to the file of whoever issued it.`
  return new AskbackError('unavailable', message, { cause: error })
}

/** What an answer with an error says. */
export function errorOf({ status, text, headers }: Response): AskbackError {
  const { code, message, details } = bodyOf(text)
  const known = code !== undefined && Object.hasOwn(errorCodes, code) ? code : codeFor(status)
  const retryAfterMs = Number(headers['retry-after'] ?? Number.NaN) * 1000
  return new AskbackError(known, message ?? `The gateway answered with status ${status}.`, {
    details: known === 'unavailable' ? { retryAfterMs } : details,
  })
}

function bodyOf(text: string): Partial<ErrorBody['error']> {
  try {
    return (JSON.parse(text) as Partial<ErrorBody>).error ?? {}
  } catch {
    return {}
  }
}

function codeFor(status: number): ErrorCode {
  if (status === 502 || status === 504) return 'unavailable'
  const entries = Object.entries(errorCodes) as [ErrorCode, { status: number }][]
  return entries.find(([, entry]) => entry.status === status)?.[0] ?? 'internal'
}

function isAnswer({ details }: AskbackError): boolean {
  return typeof details === 'object' && details !== null && 'retryAfterMs' in details
}

function whyAgain(error: unknown): string {
  return error instanceof AskbackError && error.code === 'unavailable' && isAnswer(error)
    ? `${error.message} Trying again.`
    : 'The gateway is away; waiting for it to come back.'
}

function pauseOf(error: unknown, failures: number): number {
  const details =
    error instanceof AskbackError ? (error.details as { retryAfterMs?: number } | undefined) : {}
  return details?.retryAfterMs || Math.min(100 * 2 ** failures, LONGEST_PAUSE_MS)
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
