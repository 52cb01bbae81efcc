import { AskbackError, copyJson, errorMessage, type Json } from '@askback/protocol'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Readable } from 'node:stream'

/** Errors are values here: if the parser threw, the framework would close the connection. */
export type ParsedBody = { ok: true; value: Json | undefined } | { ok: false; error: AskbackError }

const NEW_LINE = 0x0a
const decoder = new TextDecoder('utf-8', { fatal: true })

/** Parses JSON, equally strict for all routes. Routes with `lines` also accept NDJSON. All other content types are refused. */
export function parseBodies(
  app: FastifyInstance,
  limits: { bodyBytes: number; historyBytes: number; jsonDepth: number },
): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/x-ndjson', async (request: FastifyRequest, payload: Readable) => {
    if (request.routeOptions.config.lines) return collectLines(payload, limits)
    payload.resume()
    return refused('unsupported_media_type', 'The body must be JSON: Content-Type: application/json.')
  })
  app.addContentTypeParser('application/json', (request, payload, done) => {
    const limit = Math.min(request.routeOptions.config.bodyBytes ?? Infinity, limits.bodyBytes)
    const read = bodyReadBefore(request)
    if (read) {
      done(null, read.length > limit ? tooLarge(limit) : parseBody(read, limits.jsonDepth))
      return
    }
    if (Number(request.headers['content-length']) > limit) {
      payload.resume()
      done(null, tooLarge(limit))
      return
    }
    collect(payload, limit, (bytes, problem) => {
      if (problem === 'too_large') done(null, tooLarge(limit))
      else if (problem) done(problem)
      else done(null, parseBody(bytes, limits.jsonDepth))
    })
  })
}

/**
 * The body, if middleware of the server that we are mounted in has read it from the stream, as `express.json()` does. Then the stream
 * has ended, and would not end again.
 */
function bodyReadBefore({ raw }: FastifyRequest): Buffer | null {
  if (!raw.readableEnded || !('body' in raw)) return null
  const { body } = raw
  if (Buffer.isBuffer(body)) return body
  return Buffer.from(typeof body === 'string' ? body : (JSON.stringify(body) ?? ''))
}

function parseBody(bytes: Buffer, maxDepth: number): ParsedBody {
  if (bytes.length === 0) return { ok: true, value: undefined }
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    return refused('invalid_request', 'The body is not valid UTF-8.')
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return refused('invalid_request', `The body is not valid JSON: ${errorMessage(error).slice(0, 200)}`)
  }
  try {
    return { ok: true, value: copyJson(value, 'body', maxDepth) }
  } catch (error) {
    if (error instanceof AskbackError) return { ok: false, error }
    throw error
  }
}

function refused(
  code: 'too_large' | 'invalid_request' | 'unsupported_media_type',
  message: string,
): ParsedBody {
  return { ok: false, error: new AskbackError(code, message) }
}

function tooLarge(limit: number): ParsedBody {
  const size =
    limit < 1024 * 1024 ? `${+(limit / 1024).toFixed(3)} kB` : `${+(limit / 1024 / 1024).toFixed(3)} MB`
  return refused('too_large', `The body is larger than ${size}.`)
}

/** Bytes above the limit are read and dropped: a client whose connection is closed while it sends would not see the response. */
function collect(
  payload: Readable,
  limit: number,
  done: (bytes: Buffer, problem?: 'too_large' | Error) => void,
): void {
  let chunks: Buffer[] = []
  let length = 0
  payload.on('data', (chunk: Buffer) => {
    const within = length <= limit
    length += chunk.length
    if (length <= limit) chunks.push(chunk)
    else if (within) {
      chunks = []
      done(Buffer.alloc(0), 'too_large')
    }
  })
  payload.on('end', () => {
    if (length <= limit) done(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
  })
  payload.on('error', (error) => {
    if (length <= limit) done(Buffer.alloc(0), error)
  })
}

/**
 * NDJSON with an object on the first line and its `items` on the lines after it. Each line is parsed as it arrives: parsing all
 * at once would block the event loop.
 */
async function collectLines(
  payload: Readable,
  { historyBytes, jsonDepth }: { historyBytes: number; jsonDepth: number },
): Promise<ParsedBody> {
  const values: Json[] = []
  let unfinished: Buffer[] = []
  let length = 0
  let problem: ParsedBody | null = null
  /** Parses the unfinished line together with its last part. */
  const endLine = (part: Buffer): ParsedBody | null => {
    const line = parseBody(Buffer.concat([...unfinished, part]), jsonDepth)
    unfinished = []
    if (line.ok && line.value !== undefined) values.push(line.value)
    return line.ok ? null : line
  }
  for await (const chunk of payload as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > historyBytes) problem ??= tooLarge(historyBytes)
    // The rest is read and dropped, as above.
    if (problem) continue
    let from = 0
    for (let end = chunk.indexOf(NEW_LINE); end >= 0; end = chunk.indexOf(NEW_LINE, from)) {
      problem ??= endLine(chunk.subarray(from, end))
      from = end + 1
    }
    unfinished.push(chunk.subarray(from))
  }
  problem ??= endLine(Buffer.alloc(0))
  if (problem) return problem
  const [head, ...items] = values
  if (typeof head !== 'object' || head === null || Array.isArray(head))
    return refused('invalid_request', 'The first line must be an object.')
  return { ok: true, value: { ...head, items } }
}
