import { AskbackError, copyJson, type Json } from '@askback/protocol'
import { z } from 'zod'
import type { Encoding } from './pages.js'

const id = z.string().min(1).max(500)
const ref = z.union([z.string().max(500), z.number()])

/** Of a page by cookie, before anything else. */
const hello = z.object({
  op: z.literal('hello'),
  ref: ref.nullable().default(null),
  proof: z.string().optional(),
})

const op = z.discriminatedUnion('op', [
  z.object({ op: z.literal('subscribe'), ref, sessionId: id, after: z.int().min(0), log: id.optional() }),
  z.object({ op: z.literal('unsubscribe'), ref, sessionId: id }),
  // The desk copies the answer and checks it, as it does with every other way to answer.
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
  // Pages cannot see the gateway's own pings.
  z.object({ op: z.literal('ping'), ref }),
])

export type Ref = z.infer<typeof ref> | null
export type WsOp = z.infer<typeof op>
export type WsOpOf<Op extends WsOp['op']> = Extract<WsOp, { op: Op }>

/**
 * What a client sent, held to the same rules as a body. Where it is malformed, `ref` is told if it can be made out, so
 * that its sender knows which it was.
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

/** One that would come back as another is not told. */
function refIn(frame: unknown): Ref {
  const said = z.object({ ref }).safeParse(frame)
  return said.success && !(copyOf(said.data.ref) instanceof AskbackError) ? said.data.ref : null
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

/** What a client subscribes to, to hear of all sessions what the stream over all of them tells. */
export const ALL_SESSIONS = '*'

export function ofAllSessions(_events: unknown, texts: string[]): Buffer {
  const start = `{"op":"event","sessionId":"${ALL_SESSIONS}","event":`
  return Buffer.concat(texts.map((text) => textFrame(`${start}${text}}`)))
}

export function goneOnSocket(sessionId: string): Buffer {
  return jsonFrame({ op: 'gone', sessionId })
}

export function jsonFrame(message: object): Buffer {
  return textFrame(JSON.stringify(message))
}

const FINAL_TEXT = 0x81

/** A whole message from a server: one frame, unmasked (RFC 6455, 5.2). Made here so that it is made once for all. */
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
