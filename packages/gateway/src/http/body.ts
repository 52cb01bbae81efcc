import { AskbackError, copyJson, type Json } from '@askback/protocol'
import type { FastifyInstance } from 'fastify'
import type { Readable } from 'node:stream'

/** Not thrown where it is found: the framework would close the connection over it. */
export type ParsedBody = { ok: true; value: Json | undefined } | { ok: false; error: AskbackError }

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Takes JSON only, in one strict way for all routes. */
export function parseBodies(app: FastifyInstance, limits: { bodyBytes: number; jsonDepth: number }): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', (request, payload, done) => {
    collect(payload, limits.bodyBytes, (bytes, problem) => {
      if (problem === 'too_large') {
        const mb = limits.bodyBytes / 1024 / 1024
        done(null, refused('too_large', `The body is larger than ${+mb.toFixed(3)} MB.`))
      } else if (problem) done(problem)
      else done(null, parseBody(bytes, limits.jsonDepth))
    })
  })
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
    const why = error instanceof Error ? error.message : String(error)
    return refused('invalid_request', `The body is not valid JSON: ${why.slice(0, 200)}`)
  }
  try {
    return { ok: true, value: copyJson(value, 'body', maxDepth) }
  } catch (error) {
    if (error instanceof AskbackError) return { ok: false, error }
    throw error
  }
}

function refused(code: 'too_large' | 'invalid_request', message: string): ParsedBody {
  return { ok: false, error: new AskbackError(code, message) }
}

/** What comes after the limit is read and dropped: a sender that is cut off mid-body would not see the answer. */
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
