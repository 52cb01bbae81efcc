import type { BusMessage } from '@askback/core'
import { isBusMessage } from '@askback/core/internal'
import type { LiveEvent } from '@askback/protocol'

/*
 * How messages of the bus become payloads of `NOTIFY`, and back. Messages that wait are merged: of several doorbells of a session
 * only the newest is sent, and successive deltas of one live block become one delta.
 */

/** The payload of `NOTIFY` must be shorter than 8,000 bytes. */
const MAX_PAYLOAD_BYTES = 7800
/** A character needs at most six bytes in JSON, so a delta of this length fits into a payload. */
const MAX_DELTA_CHARACTERS = 1200

/** Messages that wait to be sent. */
export class OutgoingMessages {
  #doorbells = new Map<string, BusMessage>()
  #others: BusMessage[] = []

  get size(): number {
    return this.#doorbells.size + this.#others.length
  }

  add(message: BusMessage): void {
    if (message.type === 'append') {
      this.#doorbells.set(message.sessionId, message)
      return
    }
    const last = this.#others.at(-1)
    const merged = last?.type === 'live' && message.type === 'live' ? joined(last, message) : null
    if (merged) this.#others[this.#others.length - 1] = merged
    else this.#others.push(message)
  }

  /** Removes and returns all messages, doorbells first. */
  take(): BusMessage[] {
    const messages = [...this.#doorbells.values(), ...this.#others.flatMap(split)]
    this.#doorbells = new Map()
    this.#others = []
    return messages
  }
}

/** Packs messages into as few payloads as possible. */
export function payloadsOf(from: string, messages: BusMessage[]): string[] {
  const head = `{"from":${JSON.stringify(from)},"messages":[`
  const payloads: string[] = []
  let parts: string[] = []
  let bytes = 0
  const end = () => {
    if (parts.length > 0) payloads.push(`${head}${parts.join(',')}]}`)
    parts = []
    bytes = 0
  }
  for (const message of messages) {
    const part = JSON.stringify(message)
    const size = Buffer.byteLength(part) + 1
    // Only a message with an absurdly long session id does not fit. It is dropped: receivers find the events with their next poll.
    if (size > MAX_PAYLOAD_BYTES - head.length) continue
    if (bytes + size > MAX_PAYLOAD_BYTES - head.length) end()
    parts.push(part)
    bytes += size
  }
  end()
  return payloads
}

/** Anybody who may connect to the database can send notifications, so anything that is not ours is ignored. */
export function parsePayload(payload: string): { from: string; messages: BusMessage[] } {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- may be any JSON: each field is checked below
    const { from, messages } = JSON.parse(payload) as { from: unknown; messages: unknown }
    if (typeof from === 'string' && Array.isArray(messages))
      return { from, messages: messages.filter(isBusMessage) }
  } catch {
    // Not JSON.
  }
  return { from: '', messages: [] }
}

type LiveMessage = Extract<BusMessage, { type: 'live' }>

/** Appends the second delta to the first; `null` if it does not continue it. */
function joined(one: LiveMessage, other: LiveMessage): LiveMessage | null {
  const [a, b] = [one.event, other.event]
  const isContinuation = one.sessionId === other.sessionId && a.type === b.type && idOf(a) === idOf(b)
  if (!isContinuation || a.offset + textOf(a).length !== b.offset) return null
  return { ...one, event: withText(a, textOf(a) + textOf(b), a.offset) }
}

function split(message: BusMessage): BusMessage[] {
  if (message.type !== 'live' || textOf(message.event).length <= MAX_DELTA_CHARACTERS) return [message]
  const text = textOf(message.event)
  const parts: BusMessage[] = []
  for (let from = 0; from < text.length; from += MAX_DELTA_CHARACTERS) {
    const part = text.slice(from, from + MAX_DELTA_CHARACTERS)
    parts.push({ ...message, event: withText(message.event, part, message.event.offset + from) })
  }
  return parts
}

function idOf(event: LiveEvent): string {
  return 'blockId' in event ? event.blockId : event.toolCallId
}

function textOf(event: LiveEvent): string {
  return event.type === 'tool_call_delta' ? event.partialInput : event.text
}

function withText(event: LiveEvent, text: string, offset: number): LiveEvent {
  return event.type === 'tool_call_delta'
    ? { ...event, partialInput: text, offset }
    : { ...event, text, offset }
}
