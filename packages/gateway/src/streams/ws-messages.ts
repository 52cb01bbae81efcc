import { AskbackError, copyJson, type Json } from '@askback/protocol'
import * as z from 'zod'
import type { Encoding } from './pages.js'

const id = z.string().min(1).max(500)
const ref = z.union([z.string().max(500), z.number()])

/** The first message of a page with a cookie. */
const hello = z.object({
  op: z.literal('hello'),
  ref: ref.nullable().default(null),
  proof: z.string().optional(),
})

const op = z.discriminatedUnion('op', [
  z.object({ op: z.literal('subscribe'), ref, sessionId: id, after: z.int().min(0), log: id.optional() }),
  z.object({ op: z.literal('unsubscribe'), ref, sessionId: id }),
  // The desk validates the answer, as for every other surface.
  z.object({
    op: z.literal('respond'),
    ref,
    sessionId: id,
    interactionId: id,
    answer: z.unknown(),
    digest: z.string().optional(),
    toolCallId: z.string().optional(),
    idempotencyKey: z.string().optional(),
  }),
  hello,
  // Browsers hide the gateway's protocol pings from pages, so pages need their own.
  z.object({ op: z.literal('ping'), ref }),
])

export type Ref = z.infer<typeof ref> | null
export type WsOp = z.infer<typeof op>
export type WsOpOf<Op extends WsOp['op']> = Extract<WsOp, { op: Op }>

/**
 * Parses a message of a client with the same rules as an HTTP body. The error for a malformed one has its `ref`, if that can be read, so
 * that the client knows which message it was.
 */
export function parseOp(text: string, maxDepth: number): WsOp | { ref: Ref; error: AskbackError } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { ref: null, error: new AskbackError('invalid_request', 'A frame must be JSON.') }
  }
  const copied = copyOf(value, maxDepth)
  if (copied instanceof AskbackError) return { ref: refIn(value), error: copied }
  const parsed = op.safeParse(copied)
  if (parsed.success) return parsed.data
  const message = `This is no frame that the gateway knows: ${z.prettifyError(parsed.error)}`
  return { ref: refIn(value), error: new AskbackError('invalid_request', message) }
}

/** `null` for a `ref` that JSON cannot carry unchanged: the client would not recognize it. */
function refIn(frame: unknown): Ref {
  const parsed = z.object({ ref }).safeParse(frame)
  return parsed.success && !(copyOf(parsed.data.ref) instanceof AskbackError) ? parsed.data.ref : null
}

function copyOf(value: unknown, maxDepth?: number): Json | AskbackError {
  try {
    return copyJson(value, 'frame', maxDepth)
  } catch (error) {
    if (error instanceof AskbackError) return error
    throw error
  }
}

export const wsEncoding: Encoding = {
  events(events, texts) {
    const start = `{"op":"event","sessionId":${JSON.stringify(events[0]?.sessionId)},"event":`
    return Buffer.concat(texts.map((text) => textFrame(`${start}${text}}`)))
  },
  live: (sessionId, event) => jsonFrame({ op: 'live', sessionId, event }),
  resync: (sessionId) => jsonFrame({ op: 'resync', sessionId }),
}

/** Subscribing to this id delivers the events of all sessions, as `/api/events` does. */
export const ALL_SESSIONS = '*'

export function encodeForAll(_events: unknown, texts: string[]): Buffer {
  const start = `{"op":"event","sessionId":"${ALL_SESSIONS}","event":`
  return Buffer.concat(texts.map((text) => textFrame(`${start}${text}}`)))
}

export function encodeGoneForAll(sessionId: string): Buffer {
  return jsonFrame({ op: 'gone', sessionId })
}

export function jsonFrame(message: object): Buffer {
  return textFrame(JSON.stringify(message))
}

const FINAL_TEXT = 0x81

/** A whole message of a server: one unmasked frame (RFC 6455, 5.2). Encoded here, and not by `ws`, so that all readers share it. */
function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const start = length < 126 ? 2 : length < 65_536 ? 4 : 10
  const frame = Buffer.allocUnsafe(start + length)
  frame[0] = FINAL_TEXT
  if (start === 2) frame[1] = length
  else if (start === 4) {
    frame[1] = 126
    frame.writeUInt16BE(length, 2)
  } else {
    frame[1] = 127
    frame.writeBigUInt64BE(BigInt(length), 2)
  }
  frame.write(text, start)
  return frame
}
