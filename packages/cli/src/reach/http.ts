import { AskbackError, errorCodes, isErrorCode, type ErrorCode } from '@askback/protocol/errors'
import { isRecord } from '@askback/protocol/guards'
import type { IncomingMessage } from 'node:http'
import type { GatewayConnection } from './connection.js'

/** Without a byte for this long, a download is taken for dead. */
const DOWNLOAD_STALL_MS = 60_000

export interface GatewayRequest {
  method: 'GET' | 'POST' | 'DELETE'
  url: URL
  headers: Record<string, string>
  body?: unknown
  /** Instead of a body: values that are sent as JSON, one per line. */
  lines?: unknown[] | undefined
  /** Without a byte for this long, the connection is taken for dead. */
  stallMs: number
  signal?: AbortSignal | undefined
}

export interface HttpResponse {
  status: number
  headers: IncomingMessage['headers']
  text: string
}

/** Sends one request. It does not use `fetch`, which takes longer to load than all the rest of a short command. */
export async function sendRequest(sending: GatewayRequest): Promise<HttpResponse> {
  const { method, url, headers, stallMs, signal } = sending
  const { request } = url.protocol === 'https:' ? await import('node:https') : await import('node:http')
  const { type, payload } = payloadOf(sending)
  const sent = payload && { 'content-type': type, 'content-length': payload.length }
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method,
      headers: { ...headers, ...sent },
      ...(signal && { signal }),
    })
    outgoing.setTimeout(stallMs, () => outgoing.destroy(new Error('The gateway does not answer.')))
    outgoing.on('error', reject)
    outgoing.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (data: string) => (text += data))
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    outgoing.end(payload)
  })
}

function payloadOf({ body, lines }: GatewayRequest): { type: string; payload?: Buffer } {
  if (lines)
    return {
      type: 'application/x-ndjson',
      payload: Buffer.concat(lines.map((line) => Buffer.from(`${JSON.stringify(line)}\n`))),
    }
  const type = 'application/json'
  return body === undefined ? { type } : { type, payload: Buffer.from(JSON.stringify(body)) }
}

/** Writes the response to a new file that only its owner can read. */
export async function download(connection: GatewayConnection, path: string, file: string): Promise<void> {
  const [{ createWriteStream }, { text }, { pipeline }] = await Promise.all([
    import('node:fs'),
    import('node:stream/consumers'),
    import('node:stream/promises'),
  ])
  const response = await openDownload(connection, path)
  const { statusCode: status = 0, headers } = response
  if (status !== 200) throw errorFrom({ status, headers, text: await text(response) })
  const output = createWriteStream(file, { flags: 'wx', mode: 0o600 })
  try {
    await pipeline(response, output)
  } catch (error) {
    if (response.complete) throw error
    throw new AskbackError('unavailable', 'The gateway ended before it had sent everything. Try again.', {
      cause: error,
    })
  }
}

async function openDownload({ url, token }: GatewayConnection, path: string): Promise<IncomingMessage> {
  const target = new URL(path, url)
  const http = target.protocol === 'https:' ? await import('node:https') : await import('node:http')
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, 'askback-surface': 'cli' }
    const outgoing = http.get(target, { headers })
    outgoing.setTimeout(DOWNLOAD_STALL_MS, () => outgoing.destroy(new Error('The gateway does not answer.')))
    outgoing.on('error', reject)
    outgoing.on('response', resolve)
  })
}

/** The error that a response describes. A proxy on the way may have answered instead of the gateway. */
export function errorFrom({ status, text, headers }: HttpResponse): AskbackError {
  const { code, message, details } = errorIn(text)
  const known = isErrorCode(code) ? code : codeForStatus(status)
  const retryAfterMs = Number(headers['retry-after'] ?? Number.NaN) * 1000
  const said = typeof message === 'string' ? message : `The gateway answered with status ${status}.`
  return new AskbackError(known, said, {
    details: known === 'unavailable' ? { retryAfterMs } : details,
  })
}

function errorIn(text: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(text)
    return isRecord(body) && isRecord(body['error']) ? body['error'] : {}
  } catch {
    return {}
  }
}

function codeForStatus(status: number): ErrorCode {
  if (status === 502 || status === 504) return 'unavailable'
  const codes = Object.keys(errorCodes).filter(isErrorCode)
  return codes.find((code) => errorCodes[code].status === status) ?? 'internal'
}
