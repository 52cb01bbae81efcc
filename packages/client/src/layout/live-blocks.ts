import type { LiveEvent, SessionEvent, SessionState } from '@askback/protocol'

/** A block that is being made, as far as it has come. */
export type LiveBlock =
  | { type: 'text' | 'thinking'; id: string; text: string }
  | { type: 'tool_call'; id: string; toolName: string; text: string }
  | { type: 'tool_output'; id: string; text: string }

interface Growing {
  block: LiveBlock
  /** The stream that it was last told on. */
  stream: number
  /** Pieces that came before the one they follow. */
  ahead: { offset: number; text: string }[]
}

const NONE: readonly LiveBlock[] = []

/** Puts the blocks that are being made together, from pieces that may overlap, repeat or come too late. */
export class LiveBlocks {
  readonly #blocks = new Map<string, Growing>()
  #list: readonly LiveBlock[] = NONE
  #stream = 0

  /** In the order they began; the same array until something changes. */
  get list(): readonly LiveBlock[] {
    return this.#list
  }

  /** A piece of a block that `state` has in full changes nothing. */
  add(event: LiveEvent, state: SessionState | null): void {
    const key = keyOf(event)
    let growing = this.#blocks.get(key)
    if (!growing) {
      if (state && isFinished(event, state)) return
      growing = { block: emptyBlock(event), ahead: [], stream: this.#stream }
      this.#blocks.set(key, growing)
    }
    const before = growing.block.text
    const isRetold = growing.stream !== this.#stream && event.offset === 0
    const piece = { offset: event.offset, text: textOf(event) }
    if (isRetold) {
      growing.stream = this.#stream
      growing.block = { ...growing.block, text: piece.text }
    } else if (piece.offset > before.length) growing.ahead.push(piece)
    else growing.block = { ...growing.block, text: joined(growing, piece) }
    if (growing.block.text !== before) this.#changed()
  }

  /** A new stream tells the blocks so far anew. Until then what was known stays, so that nothing flickers. */
  renew(): void {
    this.#stream += 1
  }

  /** What the new stream has not told again died with its maker. */
  sweep(): void {
    const { size } = this.#blocks
    for (const [key, { stream }] of this.#blocks) if (stream !== this.#stream) this.#blocks.delete(key)
    if (this.#blocks.size < size) this.#changed()
  }

  /** The log has these now, and a turn that ended leaves nothing behind. */
  finish(events: Iterable<SessionEvent>): void {
    let { size } = this.#blocks
    for (const event of events) {
      if (event.type === 'turn_ended') this.#blocks.clear()
      else for (const key of finishedBy(event)) this.#blocks.delete(key)
    }
    size -= this.#blocks.size
    if (size > 0) this.#changed()
  }

  clear(): void {
    if (this.#blocks.size === 0) return
    this.#blocks.clear()
    this.#changed()
  }

  #changed(): void {
    const blocks = [...this.#blocks.values()].map(({ block }) => block)
    this.#list = blocks.length === 0 ? NONE : blocks.filter(({ text }) => text !== '')
  }
}

function joined(growing: Growing, piece: { offset: number; text: string }): string {
  let text = extended(growing.block.text, piece)
  for (;;) {
    const next = growing.ahead.findIndex(({ offset }) => offset <= text.length)
    if (next < 0) return text
    text = extended(text, growing.ahead.splice(next, 1)[0]!)
  }
}

function extended(text: string, { offset, text: more }: { offset: number; text: string }): string {
  const known = text.length - offset
  return known >= more.length ? text : text + more.slice(known)
}

function isFinished(event: LiveEvent, { turns, toolCalls }: SessionState): boolean {
  switch (event.type) {
    case 'tool_call_delta':
      return toolCalls.has(event.toolCallId)
    case 'tool_output_delta':
      return toolCalls.get(event.toolCallId)?.result !== undefined
    case 'text_delta':
    case 'thinking_delta':
      return turns.some((turn) => turn.items.some((item) => 'id' in item && item.id === event.blockId))
  }
}

function keyOf(event: LiveEvent): string {
  switch (event.type) {
    case 'tool_call_delta':
      return `call ${event.toolCallId}`
    case 'tool_output_delta':
      return `output ${event.toolCallId}`
    case 'text_delta':
    case 'thinking_delta':
      return `block ${event.blockId}`
  }
}

function finishedBy(event: SessionEvent): string[] {
  switch (event.type) {
    case 'text':
    case 'thinking':
      return [`block ${event.blockId}`]
    case 'tool_call':
      return [`call ${event.toolCallId}`]
    case 'tool_result':
      return [`call ${event.toolCallId}`, `output ${event.toolCallId}`]
    default:
      return []
  }
}

function emptyBlock(event: LiveEvent): LiveBlock {
  switch (event.type) {
    case 'tool_call_delta':
      return { type: 'tool_call', id: event.toolCallId, toolName: event.toolName, text: '' }
    case 'tool_output_delta':
      return { type: 'tool_output', id: event.toolCallId, text: '' }
    case 'text_delta':
      return { type: 'text', id: event.blockId, text: '' }
    case 'thinking_delta':
      return { type: 'thinking', id: event.blockId, text: '' }
  }
}

function textOf(event: LiveEvent): string {
  return event.type === 'tool_call_delta' ? event.partialInput : event.text
}
