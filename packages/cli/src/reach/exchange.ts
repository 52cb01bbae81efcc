import type { IncomingMessage } from 'node:http'

export interface Request {
  method: 'GET' | 'POST' | 'DELETE'
  url: URL
  headers: Record<string, string>
  body?: unknown
  /** Instead of a body: many values, each on a line of its own. */
  lines?: unknown[] | undefined
  /** Without a byte for so long the connection is taken for dead. */
  stallMs: number
  signal?: AbortSignal | undefined
}

export interface Response {
  status: number
  headers: IncomingMessage['headers']
  text: string
}

/** One request and its answer. Not `fetch`: that takes longer to load than all the rest of a short command. */
export async function exchange(sending: Request): Promise<Response> {
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

function payloadOf({ body, lines }: Request): { type: string; payload?: Buffer } {
  if (lines)
    return {
      type: 'application/x-ndjson',
      payload: Buffer.concat(lines.map((line) => Buffer.from(`${JSON.stringify(line)}\n`))),
    }
  const type = 'application/json'
  return body === undefined ? { type } : { type, payload: Buffer.from(JSON.stringify(body)) }
}
