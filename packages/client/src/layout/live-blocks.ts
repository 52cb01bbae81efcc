import type { LiveEvent, SessionEvent, SessionState } from '@askback/protocol'

/** An unfinished block, as far as it has been written. */
export type LiveBlock =
  | { type: 'text' | 'thinking'; id: string; text: string }
  | { type: 'tool_call'; id: string; toolName: string; text: string }
  | { type: 'tool_output'; id: string; text: string }

interface GrowingBlock {
  block: LiveBlock
  /** The number of the stream that last sent it from its beginning. */
  stream: number
  /** Pieces that came before the one they follow. */
  early: TextDelta[]
}

interface TextDelta {
  /** In UTF-16 units, from the beginning of the block. */
  offset: number
  text: string
}

const NO_BLOCKS: readonly LiveBlock[] = []

/**
 * Assembles unfinished blocks from live events, which may overlap, repeat, or come early or late.
 *
 * Live events are not in the log. After a reconnect the new stream sends each unfinished block again from offset 0. Until then
 * the old text stays, so that nothing flickers; blocks that the new stream does not send were lost with their agent.
 */
export class LiveBlocks {
  readonly #blocks = new Map<string, GrowingBlock>()
  #list: readonly LiveBlock[] = NO_BLOCKS
  #stream = 0

  /** The blocks in the order they began; the same array until something changes. */
  get list(): readonly LiveBlock[] {
    return this.#list
  }

  /** Adds a piece. One of a block that is finished in `state` changes nothing. */
  add(event: LiveEvent, state: SessionState | null): void {
    const key = keyOf(event)
    let growing = this.#blocks.get(key)
    if (!growing) {
      if (state && isFinished(event, state)) return
      growing = { block: emptyBlock(event), early: [], stream: this.#stream }
      this.#blocks.set(key, growing)
    }
    const before = growing.block.text
    const isSentAgain = growing.stream !== this.#stream && event.offset === 0
    const piece = { offset: event.offset, text: textOf(event) }
    if (isSentAgain) {
      growing.stream = this.#stream
      growing.block = { ...growing.block, text: piece.text }
    } else if (piece.offset > before.length) growing.early.push(piece)
    else growing.block = { ...growing.block, text: withPiece(growing, piece) }
    if (growing.block.text !== before) this.#changed()
  }

  /** A new stream begins, and will send the unfinished blocks again. */
  beginStream(): void {
    this.#stream += 1
  }

  /** Removes the blocks that the new stream has not sent again. */
  sweep(): void {
    const { size } = this.#blocks
    for (const [key, { stream }] of this.#blocks) if (stream !== this.#stream) this.#blocks.delete(key)
    if (this.#blocks.size < size) this.#changed()
  }

  /** Removes the blocks that these events of the log finish; the end of a turn finishes all. */
  finish(events: Iterable<SessionEvent>): void {
    const { size } = this.#blocks
    for (const event of events) {
      if (event.type === 'turn_ended') this.#blocks.clear()
      else for (const key of finishedBy(event)) this.#blocks.delete(key)
    }
    if (this.#blocks.size < size) this.#changed()
  }

  clear(): void {
    if (this.#blocks.size === 0) return
    this.#blocks.clear()
    this.#changed()
  }

  #changed(): void {
    const blocks = [...this.#blocks.values()].map(({ block }) => block)
    this.#list = blocks.length === 0 ? NO_BLOCKS : blocks.filter(({ text }) => text !== '')
  }
}

/** The text with this piece, and with early pieces that follow it. */
function withPiece(growing: GrowingBlock, piece: TextDelta): string {
  let text = extend(growing.block.text, piece)
  for (;;) {
    const next = growing.early.findIndex(({ offset }) => offset <= text.length)
    if (next < 0) return text
    text = extend(text, growing.early.splice(next, 1)[0]!)
  }
}

function extend(text: string, { offset, text: more }: TextDelta): string {
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
