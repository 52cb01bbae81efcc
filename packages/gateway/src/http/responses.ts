import { AskbackError, errorCodes, type ErrorBody } from '@askback/protocol'
import type { FastifyReply } from 'fastify'
import type { Socket } from 'node:net'

export interface Answer {
  status: number
  body: unknown
  /** The body as JSON, where that is at hand. */
  text?: string
  /** Seconds. */
  retryAfter?: number
  setCookie?: string
}

/** On every response. What this server serves is never framed, sniffed or read by another site. */
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
 * The app writes to the clipboard, and needs nothing else that a browser could do for a page. Only features that browsers
 * know on every platform: each other one is a warning in the console on every load.
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

/** How long a caller that met a limit waits before it tries again, unless the error knows better. */
const RETRY_AFTER_SECONDS = { unavailable: 1, rate_limited: 10 } as const

/** Past the framework, which would look at each header of each answer: that is a tenth of what a request costs. */
export function sendAnswer(
  reply: FastifyReply,
  { status, body, text = JSON.stringify(body), retryAfter, setCookie }: Answer,
): void {
  const headers = [...JSON_HEADERS, 'content-length', String(Buffer.byteLength(text))]
  if (retryAfter !== undefined) headers.push('retry-after', String(retryAfter))
  if (setCookie !== undefined) headers.push('set-cookie', setCookie)
  reply.hijack()
  writeInTurn(() => reply.raw.writeHead(status, headers).end(text))
}

export function sendError(reply: FastifyReply, error: AskbackError): void {
  const retryAfter = retryAfterOf(error)
  const answer = { status: errorCodes[error.code].status, body: bodyOf(error) }
  sendAnswer(reply, retryAfter === null ? answer : { ...answer, retryAfter })
}

/** What the caller is told: nothing of what went wrong inside. */
export function bodyOf(error: AskbackError): ErrorBody {
  if (error.code !== 'internal') return error.toJSON()
  return { error: { code: 'internal', message: 'Something went wrong in the gateway; its log says what.' } }
}

/** Every error as one of ours. */
export function toAskbackError(error: unknown): AskbackError {
  if (error instanceof AskbackError) return error
  const { code, statusCode, message } = error as { code?: unknown; statusCode?: unknown; message?: unknown }
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

/** Seconds, for whoever may try again. */
export function retryAfterOf({ code, details }: AskbackError): number | null {
  if (code !== 'unavailable' && code !== 'rate_limited') return null
  const known =
    typeof details === 'object' && details !== null && 'retryAfter' in details && details.retryAfter
  return typeof known === 'number' ? known : RETRY_AFTER_SECONDS[code]
}

let putOff: (() => void)[] | null = null

/**
 * Writes now, or, if something was written in this turn of the event loop, at its end. A write wakes a peer that sleeps, which
 * takes as long as all else that an answer costs; of writes that follow one another only the first does.
 */
export function writeInTurn(write: () => void): void {
  if (putOff) {
    putOff.push(write)
    return
  }
  putOff = []
  setImmediate(writeAll)
  write()
}

function writeAll(): void {
  const writes = putOff ?? []
  putOff = null
  for (const write of writes) write()
}

const MESSAGES: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'The headers are too long.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not come in time. Connect again to send it.',
}

/** What is not even HTTP still gets an answer in JSON, where its sender can read one. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const tooLate = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
  const message = MESSAGES[error.code ?? ''] ?? 'This is not a valid HTTP request.'
  const body = JSON.stringify(bodyOf(new AskbackError('invalid_request', message)))
  const head = [
    `HTTP/1.1 ${tooLate ? '408 Request Timeout' : '400 Bad Request'}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(SECURITY_HEADERS).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
