import type { Turn } from '@askback/protocol'
import type { Container, LayoutBlock, ToolBlock, TurnLayout } from './layout-model.js'
import type { LiveBlock } from './live-blocks.js'
import type { TurnEntry } from './placement.js'
import {
  appendCall,
  cardOf,
  isUngrouped,
  placeholderBlock,
  toolBlock,
  type LayoutContext,
} from './tool-block.js'

/** Lays out one turn: divides its entries into containers. */
export function layoutTurn(turn: Turn, entries: readonly TurnEntry[], context: LayoutContext): TurnLayout {
  const containers = new Containers(context)
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

/** The turn with the unfinished blocks after everything else. */
export function withLive(turn: TurnLayout, context: LayoutContext, live: readonly LiveBlock[]): TurnLayout {
  const last = turn.containers.at(-1)
  const containers = new Containers(
    context,
    last ? [...turn.containers.slice(0, -1), copyForAppend(last)] : [],
  )
  for (const block of live) containers.addLive(block)
  return { ...turn, containers: containers.list }
}

/** Copies what an unfinished block may be added to: the container, and its last block if that is a group of calls. */
function copyForAppend(container: Container): Container {
  if (!('blocks' in container)) return container
  const blocks = container.blocks.map((block, index, all) =>
    block.type === 'tool_group' && index === all.length - 1 ? { ...block, calls: [...block.calls] } : block,
  )
  return { ...container, blocks }
}

/** Collects the containers of a turn, and finds the one that each entry belongs to. */
class Containers {
  readonly list: Container[]
  readonly #context: LayoutContext
  /** The blocks of each response, by `responseId`. */
  readonly #responses = new Map<string, LayoutBlock[]>()
  /** The blocks of each container of a call that belongs to no response, by `toolCallId`. */
  readonly #calls = new Map<string, LayoutBlock[]>()

  constructor(context: LayoutContext, list: Container[] = []) {
    this.#context = context
    this.list = list
  }

  add(entry: TurnEntry, turn: Turn): void {
    switch (entry.type) {
      case 'item':
        this.#addItem(entry.item)
        break
      case 'call': {
        const { toolCallId, responseId } = entry.call
        const blocks = this.#addCall(toolBlock(entry.call, turn, this.#context), responseId)
        const questionnaires = this.#context.placement.questionnairesByRoot.get(toolCallId) ?? []
        for (const interaction of questionnaires) blocks.push(cardOf(interaction, this.#context))
        break
      }
      case 'placeholder':
        this.#addCall(placeholderBlock(entry.approval, this.#context), entry.approval.responseId)
        break
      case 'questionnaire': {
        const { toolCallId, responseId } = entry.interaction
        const blocks =
          responseId === undefined ? this.#callBlocks(toolCallId) : this.#responseBlocks(responseId)
        blocks.push(cardOf(entry.interaction, this.#context))
        break
      }
    }
  }

  addLive(live: LiveBlock): void {
    switch (live.type) {
      case 'text':
      case 'thinking': {
        const { type, id, text } = live
        this.#lastResponseBlocks(id).push({ type, key: `block:${id}`, text, state: 'streaming' })
        break
      }
      case 'tool_call': {
        const call = streamingBlock(live)
        const last = this.list.at(-1)
        if (last?.type === 'response') appendCall(last.blocks, call, this.#context)
        else this.#addCall(call, undefined)
        break
      }
      case 'tool_output':
        // Shown in the block of its call.
        break
    }
  }

  #addItem(item: Extract<TurnEntry, { type: 'item' }>['item']): void {
    switch (item.type) {
      case 'text':
      case 'thinking': {
        const { type, id, text, partial, responseId } = item
        const blocks =
          responseId === undefined ? this.#lastResponseBlocks(id) : this.#responseBlocks(responseId)
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

  #addCall(call: ToolBlock, responseId: string | undefined): LayoutBlock[] {
    const blocks =
      responseId === undefined
        ? (this.#groupBefore(call) ?? this.#callBlocks(call.toolCallId))
        : this.#responseBlocks(responseId)
    appendCall(blocks, call, this.#context)
    return blocks
  }

  /** Calls without a response form groups, too, unless somebody was asked about one of them. */
  #groupBefore(call: ToolBlock): LayoutBlock[] | undefined {
    const last = this.list.at(-1)
    if (last?.type !== 'tool_call' || isUngrouped(call, this.#context)) return undefined
    return last.blocks.at(-1)?.type === 'tool_group' ? last.blocks : undefined
  }

  #responseBlocks(responseId: string): LayoutBlock[] {
    const known = this.#responses.get(responseId)
    if (known) return known
    const blocks: LayoutBlock[] = []
    this.#responses.set(responseId, blocks)
    this.list.push({ type: 'response', key: `response:${responseId}`, responseId, blocks })
    return blocks
  }

  /** For a block that names no response: the last container if that is a response, else a new one. */
  #lastResponseBlocks(firstId: string): LayoutBlock[] {
    const last = this.list.at(-1)
    if (last?.type === 'response') return last.blocks
    const blocks: LayoutBlock[] = []
    this.list.push({ type: 'response', key: `response-of:${firstId}`, responseId: null, blocks })
    return blocks
  }

  #callBlocks(toolCallId: string): LayoutBlock[] {
    const known = this.#calls.get(toolCallId)
    if (known) return known
    const blocks: LayoutBlock[] = []
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
