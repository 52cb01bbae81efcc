import type { LiveEvent, SessionEvent } from '@askback/protocol'
import type { ReportedEvent } from '../decide/command.js'
import type { LiveDelta } from './agent.js'

/** Called with each part of a block that is being written. */
export type LiveListener = (live: { sessionId: string; event: LiveEvent }) => void

interface Block {
  delta: LiveDelta
  text: string
  /** Whether another process makes it. */
  elsewhere?: true
}

interface TurnBlocks {
  blocks: Map<string, Block>
  /** Blocks of this turn that are in the log. A late piece of one must not show it as unfinished again. */
  done: Set<string>
}

const MAX_REMEMBERED_BLOCKS = 1000

/** Unfinished blocks: broadcast piece by piece, and dropped when the finished block is in the log. */
export class LiveFeed {
  readonly #sessions = new Map<string, TurnBlocks>()
  readonly #listeners = new Set<LiveListener>()
  readonly #publish: LiveListener

  /** `publish` is called with the pieces that are made in this process. */
  constructor(publish: LiveListener = () => undefined) {
    this.#publish = publish
  }

  emit(sessionId: string, delta: LiveDelta): void {
    const turnBlocks = this.#sessions.get(sessionId) ?? { blocks: new Map<string, Block>(), done: new Set() }
    const key = blockKey(delta)
    if (turnBlocks.done.has(key)) return
    this.#sessions.set(sessionId, turnBlocks)
    const block = turnBlocks.blocks.get(key) ?? { delta, text: '' }
    turnBlocks.blocks.set(key, block)
    const event = at(delta, block.text.length)
    block.text += textOf(delta)
    this.#publish({ sessionId, event })
    for (const listener of this.#listeners) listener({ sessionId, event })
  }

  /** A piece from another process. If an earlier piece was lost, the rest of the block comes with the log. */
  receive(sessionId: string, event: LiveEvent): void {
    const turnBlocks = this.#sessions.get(sessionId) ?? { blocks: new Map<string, Block>(), done: new Set() }
    const key = blockKey(event)
    const block = turnBlocks.blocks.get(key) ?? { delta: event, text: '', elsewhere: true }
    const text = textOf(event).slice(Math.max(0, block.text.length - event.offset))
    if (turnBlocks.done.has(key) || event.offset > block.text.length || text === '') return
    this.#sessions.set(sessionId, turnBlocks)
    turnBlocks.blocks.set(key, block)
    const fresh = at(withText(event, text), block.text.length)
    block.text += text
    for (const listener of this.#listeners) listener({ sessionId, event: fresh })
  }

  on(listener: LiveListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Every unfinished block so far, as one delta at offset 0. */
  blocks(sessionId: string): LiveEvent[] {
    return this.#blocks(sessionId).map(({ delta, text }) => at(withText(delta, text), 0))
  }

  /** Called with blocks that are in the log now. */
  finished(sessionId: string, events: readonly SessionEvent[]): void {
    const turnBlocks = this.#sessions.get(sessionId)
    if (!turnBlocks) return
    if (events.length === 0) this.#drop(sessionId, turnBlocks)
    for (const event of events) {
      if (event.type === 'turn_started') turnBlocks.done.clear()
      if (event.type === 'session_status' && event.status === 'ended') this.#sessions.delete(sessionId)
      for (const key of keysOf(event)) {
        turnBlocks.blocks.delete(key)
        remember(turnBlocks.done, key)
      }
    }
  }

  /** The unfinished blocks of an interrupted or lost agent, to be written to the log. */
  unfinished(sessionId: string, reported: readonly ReportedEvent[] = []): ReportedEvent[] {
    const own = new Set(reported.flatMap(keysOf))
    const blocks = this.#blocks(sessionId).filter(
      ({ delta, elsewhere }) => !elsewhere && !own.has(blockKey(delta)),
    )
    this.#sessions.get(sessionId)?.blocks.clear()
    return blocks.flatMap(({ delta, text }) => partialOf(delta, text))
  }

  /** Another process appended events that this one has not read: its blocks may be finished. */
  #drop(sessionId: string, { blocks, done }: TurnBlocks): void {
    for (const [key, block] of blocks) if (block.elsewhere) blocks.delete(key)
    if (blocks.size === 0 && done.size === 0) this.#sessions.delete(sessionId)
  }

  #blocks(sessionId: string): Block[] {
    return [...(this.#sessions.get(sessionId)?.blocks.values() ?? [])]
  }
}

function remember(done: Set<string>, key: string): void {
  done.add(key)
  if (done.size <= MAX_REMEMBERED_BLOCKS) return
  for (const oldest of done) return void done.delete(oldest)
}

function partialOf(delta: LiveDelta, made: string): ReportedEvent[] {
  // The cut may be inside a character.
  const text = made.toWellFormed()
  switch (delta.type) {
    case 'text_delta':
      return [{ type: 'text', blockId: delta.blockId, text, partial: true }]
    case 'thinking_delta':
      return [{ type: 'thinking', blockId: delta.blockId, text, partial: true }]
    case 'tool_call_delta': {
      const { toolCallId, toolName } = delta
      return [{ type: 'tool_call', toolCallId, toolName, input: text, partial: true }]
    }
    case 'tool_output_delta': {
      const cut = { isError: true, partial: true, settledBy: 'interrupted' } as const
      return [{ type: 'tool_result', toolCallId: delta.toolCallId, output: text, ...cut }]
    }
  }
}

function blockKey(delta: LiveDelta): string {
  return 'blockId' in delta ? `block ${delta.blockId}` : `${delta.type} ${delta.toolCallId}`
}

function keysOf(event: SessionEvent | ReportedEvent): string[] {
  switch (event.type) {
    case 'text':
    case 'thinking':
      return [`block ${event.blockId}`]
    case 'tool_call':
      return [`tool_call_delta ${event.toolCallId}`]
    case 'tool_result':
      return [`tool_call_delta ${event.toolCallId}`, `tool_output_delta ${event.toolCallId}`]
    default:
      return []
  }
}

function textOf(delta: LiveDelta): string {
  return delta.type === 'tool_call_delta' ? delta.partialInput : delta.text
}

function withText(delta: LiveDelta, text: string): LiveDelta {
  return delta.type === 'tool_call_delta' ? { ...delta, partialInput: text } : { ...delta, text }
}

function at(delta: LiveDelta, offset: number): LiveEvent {
  return { ...delta, offset }
}
