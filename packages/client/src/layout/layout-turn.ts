import type { Turn } from '@askback/protocol'
import type { Block, Container, LaidTurn, ToolBlock } from './layout-model.js'
import type { LiveBlock } from './live-blocks.js'
import type { Entry } from './placement.js'
import { appendCall, cardOf, placeholderBlock, standsAlone, toolBlock, type Drawing } from './tool-block.js'

/** One turn with its containers. */
export function layoutTurn(turn: Turn, entries: readonly Entry[], drawing: Drawing): LaidTurn {
  const containers = new Containers(drawing)
  for (const entry of entries) containers.add(entry, turn)
  const { key, turnId, startedAt, endedAt, reason, cause } = turn
  return {
    key,
    turnId,
    startedAt,
    ...(endedAt !== undefined && { endedAt }),
    ...(reason && { reason }),
    ...(cause && { cause }),
    containers: containers.list,
  }
}

/** The blocks that are being made come after everything else. */
export function withLive(turn: LaidTurn, drawing: Drawing, live: readonly LiveBlock[]): LaidTurn {
  const last = turn.containers.at(-1)
  const containers = new Containers(drawing, last ? [...turn.containers.slice(0, -1), ownCopy(last)] : [])
  for (const block of live) containers.addLive(block)
  return { ...turn, containers: containers.list }
}

/** Its last block may be a group, which another call joins. */
function ownCopy(container: Container): Container {
  if (!('blocks' in container)) return container
  const blocks = container.blocks.map((block, index, all) =>
    block.type === 'tool_group' && index === all.length - 1 ? { ...block, calls: [...block.calls] } : block,
  )
  return { ...container, blocks }
}

class Containers {
  readonly list: Container[]
  readonly #drawing: Drawing
  /** By `responseId`, and for what has none by `toolCallId`. */
  readonly #responses = new Map<string, Block[]>()
  readonly #calls = new Map<string, Block[]>()

  constructor(drawing: Drawing, list: Container[] = []) {
    this.#drawing = drawing
    this.list = list
  }

  add(entry: Entry, turn: Turn): void {
    switch (entry.type) {
      case 'item':
        this.#item(entry.item)
        break
      case 'call': {
        const { toolCallId, responseId } = entry.call
        const blocks = this.#call(toolBlock(entry.call, turn, this.#drawing), responseId)
        const standing = this.#drawing.placement.standing.get(toolCallId) ?? []
        for (const interaction of standing) blocks.push(cardOf(interaction, this.#drawing))
        break
      }
      case 'placeholder':
        this.#call(placeholderBlock(entry.approval, this.#drawing), entry.approval.responseId)
        break
      case 'standing': {
        const { toolCallId, responseId } = entry.interaction
        const blocks = responseId === undefined ? this.#toolCall(toolCallId) : this.#response(responseId)
        blocks.push(cardOf(entry.interaction, this.#drawing))
        break
      }
    }
  }

  addLive(live: LiveBlock): void {
    switch (live.type) {
      case 'text':
      case 'thinking': {
        const { type, id, text } = live
        this.#lastResponse(id).push({ type, key: `block:${id}`, text, state: 'streaming' })
        break
      }
      case 'tool_call': {
        const call = streamingBlock(live)
        const last = this.list.at(-1)
        if (last?.type === 'response') appendCall(last.blocks, call, this.#drawing)
        else this.#call(call, undefined)
        break
      }
      case 'tool_output':
        // Drawn in the block of its call.
        break
    }
  }

  #item(item: Extract<Entry, { type: 'item' }>['item']): void {
    switch (item.type) {
      case 'text':
      case 'thinking': {
        const { type, id, text, partial, responseId } = item
        const blocks = responseId === undefined ? this.#lastResponse(id) : this.#response(responseId)
        blocks.push({ type, key: `block:${id}`, text, state: partial ? 'partial' : 'complete' })
        break
      }
      case 'user_message': {
        const { type, id, at, text, by } = item
        this.list.push({ type, key: `message:${id}`, at, text, by })
        break
      }
      case 'error': {
        const { type, id, at, code, message, fatal } = item
        this.list.push({ type, key: `error:${id}`, at, code, message, fatal })
        break
      }
      case 'context_cleared':
        this.list.push({ type: item.type, key: `cleared:${item.id}`, at: item.at })
        break
    }
  }

  #call(call: ToolBlock, responseId: string | undefined): Block[] {
    const blocks =
      responseId === undefined
        ? (this.#groupBefore(call) ?? this.#toolCall(call.toolCallId))
        : this.#response(responseId)
    appendCall(blocks, call, this.#drawing)
    return blocks
  }

  /** Calls without a response group like others, unless somebody was asked about one of them. */
  #groupBefore(call: ToolBlock): Block[] | undefined {
    const last = this.list.at(-1)
    if (last?.type !== 'tool_call' || standsAlone(call, this.#drawing)) return undefined
    return last.blocks.at(-1)?.type === 'tool_group' ? last.blocks : undefined
  }

  #response(responseId: string): Block[] {
    const known = this.#responses.get(responseId)
    if (known) return known
    const blocks: Block[] = []
    this.#responses.set(responseId, blocks)
    this.list.push({ type: 'response', key: `response:${responseId}`, responseId, blocks })
    return blocks
  }

  /** For what names no response: the one that is being written, or one of its own. */
  #lastResponse(firstId: string): Block[] {
    const last = this.list.at(-1)
    if (last?.type === 'response') return last.blocks
    const blocks: Block[] = []
    this.list.push({ type: 'response', key: `response-of:${firstId}`, responseId: null, blocks })
    return blocks
  }

  #toolCall(toolCallId: string): Block[] {
    const known = this.#calls.get(toolCallId)
    if (known) return known
    const blocks: Block[] = []
    this.#calls.set(toolCallId, blocks)
    this.list.push({ type: 'tool_call', key: `tool-call:${toolCallId}`, toolCallId, blocks })
    return blocks
  }
}

function streamingBlock({ id, toolName, text }: Extract<LiveBlock, { type: 'tool_call' }>): ToolBlock {
  return {
    key: `call:${id}`,
    toolCallId: id,
    toolName,
    input: null,
    partialInput: text,
    status: 'streaming',
    waiting: false,
    placeholder: false,
    source: null,
    approvals: [],
    children: [],
  }
}
