import type { BusMessage } from '@askback/core'
import { liveEvent, type LiveEvent } from '@askback/protocol'

/** PostgreSQL takes less than 8,000 bytes. */
const MOST_BYTES = 7800
/** Escaped they are at most six times as long in bytes. */
const MOST_CHARACTERS = 1200

/** What waits to be sent: of many appends to one session the newest, of the pieces of a block one. */
export class Outgoing {
  #rings = new Map<string, BusMessage>()
  #others: BusMessage[] = []

  get size(): number {
    return this.#rings.size + this.#others.length
  }

  add(message: BusMessage): void {
    if (message.type === 'append') {
      this.#rings.set(message.sessionId, message)
      return
    }
    const last = this.#others.at(-1)
    const joined = last?.type === 'live' && message.type === 'live' ? join(last, message) : null
    if (joined) this.#others[this.#others.length - 1] = joined
    else this.#others.push(message)
  }

  take(): BusMessage[] {
    const messages = [...this.#rings.values(), ...this.#others.flatMap(split)]
    this.#rings = new Map()
    this.#others = []
    return messages
  }
}

/** As few texts as hold them all, each small enough. */
export function payloads(from: string, messages: BusMessage[]): string[] {
  const head = `{"from":${JSON.stringify(from)},"messages":[`
  const made: string[] = []
  let parts: string[] = []
  let bytes = 0
  const end = () => {
    if (parts.length > 0) made.push(`${head}${parts.join(',')}]}`)
    parts = []
    bytes = 0
  }
  for (const message of messages) {
    const part = JSON.stringify(message)
    const size = Buffer.byteLength(part) + 1
    // One that does not fit alone names a session of absurd length: whoever follows it looks at the store.
    if (size > MOST_BYTES - head.length) continue
    if (bytes + size > MOST_BYTES - head.length) end()
    parts.push(part)
    bytes += size
  }
  end()
  return made
}

/** Whoever may connect to the database may notify: what is not ours is nothing. */
export function readPayload(payload: string): { from: string; messages: BusMessage[] } {
  try {
    const { from, messages } = JSON.parse(payload) as { from: unknown; messages: unknown }
    if (typeof from === 'string' && Array.isArray(messages))
      return { from, messages: messages.filter(isMessage) }
  } catch {
    // As above.
  }
  return { from: '', messages: [] }
}

function isMessage(value: unknown): value is BusMessage {
  if (typeof value !== 'object' || value === null) return false
  const { type, sessionId, eventId, event, to } = value as Record<string, unknown>
  switch (type) {
    case 'append':
      return typeof sessionId === 'string' && typeof eventId === 'string'
    case 'live':
      return typeof sessionId === 'string' && liveEvent.safeParse(event).success
    case 'mail':
      return typeof to === 'string'
    default:
      return type === 'left' || type === 'credentials'
  }
}

type Live = Extract<BusMessage, { type: 'live' }>

function join(one: Live, other: Live): Live | null {
  const [a, b] = [one.event, other.event]
  const isNext = one.sessionId === other.sessionId && a.type === b.type && idOf(a) === idOf(b)
  if (!isNext || a.offset + textOf(a).length !== b.offset) return null
  return { ...one, event: withText(a, textOf(a) + textOf(b), a.offset) }
}

function split(message: BusMessage): BusMessage[] {
  if (message.type !== 'live' || textOf(message.event).length <= MOST_CHARACTERS) return [message]
  const text = textOf(message.event)
  const parts: BusMessage[] = []
  for (let from = 0; from < text.length; from += MOST_CHARACTERS) {
    const part = text.slice(from, from + MOST_CHARACTERS)
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
