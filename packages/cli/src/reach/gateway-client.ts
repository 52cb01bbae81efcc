import { backoffMs } from '@askback/protocol/backoff'
import { AskbackError, retryAfterMsIn } from '@askback/protocol/errors'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { findConnection, type CallerRole, type GatewayAddress, type GatewayConnection } from './connection.js'
import { say } from '../terminal.js'
import { errorFrom, sendRequest, type GatewayRequest } from './http.js'

const STALL_MS = 15_000
/** How long a gateway may take to restart before a call fails. */
const RESTART_MS = 30_000
const BACKOFF = { firstMs: 200, maxMs: 2000, random: () => 1 }
/** Error codes that mean that nothing was sent, because nothing listens at the address. */
const NO_LISTENER = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPERM',
  'EACCES',
])

/** Codex sets this variable for commands whose sandbox has no network. */
const NO_NETWORK_VARIABLE = 'CODEX_SANDBOX_NETWORK_DISABLED'

/** Error codes of certificates. A retry would not help. */
const UNTRUSTED_CERTIFICATE = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
])

export interface GatewayCall {
  method: GatewayRequest['method']
  path: string
  body?: unknown
  lines?: unknown[]
  headers?: Record<string, string>
  /** How many seconds the gateway may hold back its response, as with `?wait=`. @default 0 */
  holds?: number
  /** Until when to retry while the gateway is away, in milliseconds since 1970; `null` for ever. */
  until?: number | null
  signal?: AbortSignal | undefined
}

export interface GatewayClientOptions {
  env: NodeJS.ProcessEnv
  say?: (text: string) => void
  /** Without a byte for this long, beyond `holds`, a call is taken for lost. @default 15000 */
  stallMs?: number
  /** How long to retry while a gateway restarts. @default 30000 */
  restartMs?: number
}

/**
 * Calls a gateway, and retries while it restarts. Repeated requests carry the same idempotency key, so that they count once.
 * A restarted gateway may have another address and another token, so the connection is looked up for each attempt.
 */
export class GatewayClient {
  readonly #role: CallerRole
  readonly #connect: () => GatewayConnection
  readonly #say: (text: string) => void
  readonly #stallMs: number
  readonly #restartMs: number
  readonly #isSandboxed: boolean
  #reached: GatewayConnection | null = null

  constructor(role: CallerRole, where: GatewayAddress, options: GatewayClientOptions) {
    const { env, say = () => undefined, stallMs = STALL_MS, restartMs = RESTART_MS } = options
    this.#role = role
    this.#connect = () => findConnection(role, where, env)
    this.#say = say
    this.#stallMs = stallMs
    this.#restartMs = restartMs
    this.#isSandboxed = Boolean(env[NO_NETWORK_VARIABLE])
  }

  /** The address under which the gateway was reached last. */
  get url(): string {
    return (this.#reached ?? this.#connect()).url
  }

  /** The token that it calls with; `undefined` while no gateway can be found. */
  get token(): string | undefined {
    try {
      return this.#connection().token
    } catch {
      return undefined
    }
  }

  async json<Answer>(call: GatewayCall): Promise<Answer> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the gateway is trusted, so the caller states the type of its reply
    return JSON.parse(await this.text(call)) as Answer
  }

  async text(call: GatewayCall): Promise<string> {
    const key = randomUUID()
    const { until = Date.now() + this.#restartMs, signal } = call
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.#once(call, key)
      } catch (error) {
        const mayRetry = this.#mayRetry(error) && (until === null || Date.now() < until)
        if (!mayRetry || signal?.aborted) throw this.#plainError(error)
        if (failures === 2) this.#say(retryNotice(error))
        // It is NaN if the response had no usable `Retry-After`, so `??` would not do.
        const pauseMs = retryAfterMsIn(error) || backoffMs(failures, BACKOFF)
        const left = until === null ? Infinity : until - Date.now()
        await pause(Math.min(pauseMs, left), undefined, signal && { signal })
      }
    }
  }

  async #once(
    { method, path, body, lines, headers, holds = 0, signal }: GatewayCall,
    key: string,
  ): Promise<string> {
    const connection = this.#connection()
    const response = await sendRequest({
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
      // The connection was lost after it was made, so a gateway was there and may come back.
      if (!NO_LISTENER.has(codeOf(error))) this.#reached = connection
      throw error
    })
    if (response.status >= 400) throw withHint(errorFrom(response), { role: this.#role, path, body })
    this.#reached = connection
    return response.text
  }

  /** While a gateway restarts it is not announced; then the last connection is tried. */
  #connection(): GatewayConnection {
    try {
      return this.#connect()
    } catch (error) {
      if (this.#reached && error instanceof AskbackError && error.code === 'unavailable') return this.#reached
      throw error
    }
  }

  #plainError(error: unknown): unknown {
    if (error instanceof AskbackError || (error instanceof Error && error.name === 'AbortError')) return error
    if (UNTRUSTED_CERTIFICATE.has(codeOf(error))) return untrustedCertificate(error)
    const hasNoListener = NO_LISTENER.has(codeOf(error))
    const why = hasNoListener ? '' : ` (${codeOf(error) || String(error)})`
    const message =
      hasNoListener && this.#isSandboxed
        ? 'Codex’s sandbox blocks the network, so this command cannot reach Askback. Run it outside the sandbox, or set agents.codex.networkAccess to true in the config.json of Askback.'
        : `The gateway cannot be reached${why}. Is askback serve running?`
    return new AskbackError('unavailable', message, { cause: error })
  }

  #mayRetry(error: unknown): boolean {
    if (error instanceof AskbackError) {
      if (error.code === 'unavailable') return this.#reached !== null || isFromGateway(error)
      // It may just have restarted and not have announced its new token yet.
      return error.code === 'unauthorized' && this.#reached !== null
    }
    if (UNTRUSTED_CERTIFICATE.has(codeOf(error))) return false
    return this.#reached !== null || !NO_LISTENER.has(codeOf(error))
  }
}

/** A gateway that is called in a person's name. */
export function gatewayAsPerson(where: GatewayAddress): GatewayClient {
  return new GatewayClient('person', where, { env: process.env, say })
}

/** Reads all pages of a list. `name` is the field that holds the items of a page. */
export async function readAllPages<Item>(
  gateway: GatewayClient,
  path: string,
  name: string,
): Promise<Item[]> {
  const items: Item[] = []
  let next: string | null = null
  do {
    const after: string = next === null ? '' : `&after=${next}`
    const page: Record<string, Item[]> & { next: string | null } = await gateway.json({
      method: 'GET',
      path: `${path}?limit=1000${after}`,
    })
    items.push(...(page[name] ?? []))
    ;({ next } = page)
  } while (next !== null)
  return items
}

/** The gateway that runs on a data folder, called in the name of the folder's owner. */
export function gatewayOnFolder(folder: string): GatewayClient {
  return new GatewayClient('person', { data: folder }, { env: process.env })
}

function untrustedCertificate(error: unknown): AskbackError {
  const message = `The certificate of the gateway is not trusted here (${codeOf(error)}). Set NODE_EXTRA_CA_CERTS to the certificate file of its issuer.`
  return new AskbackError('unavailable', message, { cause: error })
}

/** Whether the gateway itself answered that it is unavailable. */
function isFromGateway({ details }: AskbackError): boolean {
  return typeof details === 'object' && details !== null && 'retryAfterMs' in details
}

function retryNotice(error: unknown): string {
  return error instanceof AskbackError && error.code === 'unavailable' && isFromGateway(error)
    ? `${error.message} Trying again.`
    : 'The gateway is away; waiting for it to come back.'
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** Adds to an error of the gateway what to do about it on a command line. */
function withHint(
  error: AskbackError,
  { role, path, body }: { role: CallerRole; path: string; body?: unknown },
): AskbackError {
  const hint = hintFor(error, role, namesInteraction(path, body))
  const { code, message, details } = error
  return hint === null ? error : new AskbackError(code, `${message} ${hint}`, { details })
}

function hintFor({ code }: AskbackError, role: CallerRole, isInteraction: boolean | null): string | null {
  if (code === 'unauthorized')
    return role === 'agent'
      ? 'Set ASKBACK_AGENT_TOKEN to a token of this gateway; askback token agent prints one.'
      : 'Set ASKBACK_TOKEN to your token of this gateway, or unset it to use the gateway that runs here.'
  // An agent may not list the requests of others.
  if (code !== 'not_found' || role === 'agent' || isInteraction === null) return null
  return isInteraction ? 'askback pending lists what waits.' : 'askback sessions lists them.'
}

/** Whether the call named an interaction or only a session; `null` if it named neither. */
function namesInteraction(path: string, body: unknown): boolean | null {
  if (/^\/api\/interactions\/./.test(path)) return true
  if (!/^\/api\/sessions\/./.test(path)) return null
  return (
    /\/interactions\//.test(path) || (typeof body === 'object' && body !== null && 'interactionId' in body)
  )
}
