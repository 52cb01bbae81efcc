import { AskbackError, errorCodes, isRecord, type ErrorBody } from '@askback/protocol'
import type { FastifyReply } from 'fastify'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** What a route responds with. */
export interface RouteResponse {
  status: number
  body: unknown
  /** The body as JSON, if it was serialized before. */
  text?: string
  /** Seconds. */
  retryAfter?: number
  setCookie?: string
}

/** Sent with every response: other sites may not frame, sniff or read it. */
export const SECURITY_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'x-permitted-cross-domain-policies': 'none',
  'permissions-policy': deniedFeatures(),
} as const

/**
 * The web app writes to the clipboard and uses no other browser feature. The list has only features that browsers know on every platform:
 * an unknown one is a warning in the console on every load.
 */
function deniedFeatures(): string {
  const sensors = 'accelerometer camera geolocation gyroscope magnetometer microphone xr-spatial-tracking'
  const devices = 'hid midi serial usb'
  const rest =
    'autoplay browsing-topics clipboard-read display-capture encrypted-media fullscreen idle-detection payment ' +
    'picture-in-picture publickey-credentials-get screen-wake-lock'
  return `${sensors} ${devices} ${rest}`.replaceAll(' ', '=(), ') + '=()'
}

const JSON_HEADERS = Object.entries({
  ...SECURITY_HEADERS,
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
}).flat()

/** For errors whose details have no `retryAfter`. */
const RETRY_AFTER_SECONDS = { unavailable: 1, rate_limited: 10 } as const

/** Writes to the raw response: the framework would inspect each header, which is a tenth of the cost of a request. */
export function sendResponse(
  reply: FastifyReply,
  { status, body, text = JSON.stringify(body), retryAfter, setCookie }: RouteResponse,
): void {
  const headers = [...JSON_HEADERS, 'content-length', String(Buffer.byteLength(text))]
  if (retryAfter !== undefined) headers.push('retry-after', String(retryAfter))
  if (setCookie !== undefined) headers.push('set-cookie', setCookie)
  reply.hijack()
  batchWrite(() => reply.raw.writeHead(status, headers).end(text))
}

export function sendError(reply: FastifyReply, error: AskbackError): void {
  sendResponse(reply, errorResponse(error))
}

function errorResponse(error: AskbackError): RouteResponse {
  const retryAfter = retryAfterOf(error)
  const response = { status: errorCodes[error.code].status, body: bodyOf(error) }
  return retryAfter === null ? response : { ...response, retryAfter }
}

/** Responds to a request that did not reach the framework. */
export function sendErrorTo(response: ServerResponse, error: AskbackError): void {
  const { status, body, retryAfter } = errorResponse(error)
  if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter)
  response.writeHead(status, JSON_HEADERS).end(JSON.stringify(body))
}

/** The body of an error response. Internal errors reveal no details. */
export function bodyOf(error: AskbackError): ErrorBody {
  if (error.code !== 'internal') return error.toJSON()
  return { error: { code: 'internal', message: 'Something went wrong in the gateway; its log says what.' } }
}

/** Converts errors of the framework; all others become `internal`. */
export function toAskbackError(error: unknown): AskbackError {
  if (error instanceof AskbackError) return error
  const { code, statusCode, message } = isRecord(error) ? error : {}
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new AskbackError(
      'unsupported_media_type',
      'The body must be JSON: Content-Type: application/json.',
    )
  }
  if (code === 'FST_ERR_BAD_URL')
    return new AskbackError('invalid_request', 'The address is not well encoded.')
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new AskbackError('invalid_request', typeof message === 'string' ? message : 'Not a valid request.')
  }
  return new AskbackError('internal', 'An unexpected error.', { cause: error })
}

/** In seconds; `null` if a retry does not help. */
export function retryAfterOf({ code, details }: AskbackError): number | null {
  if (code !== 'unavailable' && code !== 'rate_limited') return null
  const known =
    typeof details === 'object' && details !== null && 'retryAfter' in details && details.retryAfter
  return typeof known === 'number' ? known : RETRY_AFTER_SECONDS[code]
}

/** The writes that were deferred in this turn of the event loop; `null` if none happened yet. */
let deferred: (() => void)[] | null = null

/**
 * Batch writes per tick; each wake-up is expensive. The first write of a turn of the event loop happens at once, all others together
 * at its end. A write to a sleeping peer costs a wake-up, as much time as the rest of a response; writes that follow one another
 * share it.
 */
export function batchWrite(write: () => void): void {
  if (deferred) {
    deferred.push(write)
    return
  }
  deferred = []
  setImmediate(writeAll)
  write()
}

function writeAll(): void {
  const writes = deferred ?? []
  deferred = null
  for (const write of writes) write()
}

const MESSAGES: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'The headers are too long.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not come in time. Connect again to send it.',
}

/** Responds in JSON to bytes that are not valid HTTP, if the socket is still writable. */
export function respondToBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const isTimeout = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
  const message = MESSAGES[error.code ?? ''] ?? 'This is not a valid HTTP request.'
  const body = JSON.stringify(bodyOf(new AskbackError('invalid_request', message)))
  const head = [
    `HTTP/1.1 ${isTimeout ? '408 Request Timeout' : '400 Bad Request'}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(SECURITY_HEADERS).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
