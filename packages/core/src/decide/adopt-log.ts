import {
  sha256Hex,
  type Actor,
  type AdoptBody,
  type AdoptedItem,
  type Interaction,
  type NewEvent,
} from '@askback/protocol'
import { optional } from '../optional.js'
import type { Placement } from './adopt-place.js'
import { truncateOutput } from './report.js'

/** What one append of a long history holds. */
const MOST_EVENTS = 200
const MOST_BYTES = 512 * 1024

export interface PastEvent {
  at: number
  event: NewEvent
}

/** An interaction that is still pending: it is shown beside its call when it is settled. */
export interface Late {
  interactionId: string
  sourceId: string
  placement: Placement
  turnId: string
}

export interface Part {
  events: PastEvent[]
  late: Late[]
  /** The item that the next part begins with, `null` after the last. */
  next: number | null
}

export interface History extends Pick<AdoptBody, 'items'> {
  sessionId: string
  /** Those that are placed, by the call that they stand at. */
  asked: ReadonlyMap<string, { interaction: Interaction; placement: Placement }[]>
  by: Actor
}

/**
 * The log that a history becomes, part by part. Ids follow from the history, so that a part that is made again is the same.
 * Its turns have an end and no `turn_started`: nothing of them runs here.
 */
export class PastLog {
  readonly #history: History
  readonly #turns: number[] = []
  readonly #kept: boolean[] = []

  constructor(history: History) {
    this.#history = history
    const called = new Set<string>()
    const ended = new Set<string>()
    let turn = 0
    for (const item of history.items) {
      if (item.type === 'user_message' || turn === 0) turn += 1
      this.#turns.push(turn)
      this.#kept.push(isNews(item, called, ended))
    }
  }

  part(first: number): Part {
    const { items } = this.#history
    const part: Part = { events: [], late: [], next: null }
    let bytes = 0
    for (let index = first; index < items.length; index += 1) {
      if (part.events.length >= MOST_EVENTS || bytes >= MOST_BYTES) return { ...part, next: index }
      if (this.#kept[index]) bytes += this.#add(part, index)
      if (this.#turns[index + 1] !== this.#turns[index]) part.events.push(this.#end(index))
    }
    return part
  }

  /** Returns about how large it is. */
  #add(part: Part, index: number): number {
    const { items, by } = this.#history
    const item = items[index]!
    const { at } = item
    const turnId = this.#turnId(index)
    const add = (event: NewEvent) => part.events.push({ at, event: { ...event, turnId } })
    switch (item.type) {
      case 'user_message':
        add({ type: 'user_message', text: item.text, by })
        return item.text.length
      case 'text':
      case 'thinking':
        add({ type: item.type, blockId: `past-${index}`, text: item.text })
        return item.text.length
      case 'tool_call': {
        const { toolCallId, toolName, input } = item
        add({ type: 'tool_call', toolCallId, toolName, input, source: 'agent' })
        this.#addAsked(part, toolCallId, turnId)
        return JSON.stringify(input).length
      }
      case 'tool_result': {
        const { toolCallId, output, isError, truncated } = item
        const result = truncateOutput({ type: 'tool_result', toolCallId, output, isError })
        add({ ...result, ...optional({ truncated: truncated ?? result.truncated }) })
        return JSON.stringify(result.output).length
      }
    }
  }

  #addAsked(part: Part, toolCallId: string, turnId: string): void {
    const { sessionId, asked } = this.#history
    for (const { interaction, placement } of asked.get(toolCallId) ?? []) {
      const { interactionId, sessionId: sourceId, status } = interaction
      if (status === 'pending') part.late.push({ interactionId, sourceId, placement, turnId })
      else part.events.push(...copyEvents(interaction, { sessionId, placement, turnId }))
    }
  }

  #end(index: number): PastEvent {
    const { at } = this.#history.items[index]!
    return { at, event: { type: 'turn_ended', turnId: this.#turnId(index), reason: 'done' } }
  }

  #turnId(index: number): string {
    return `past-${this.#turns[index]}`
  }
}

/** A call counts once, and so does its result; a result without a call is of nothing. */
function isNews(item: AdoptedItem, called: Set<string>, ended: Set<string>): boolean {
  if (item.type !== 'tool_call' && item.type !== 'tool_result') return true
  const { toolCallId } = item
  const seen = item.type === 'tool_call' ? called : ended
  if (seen.has(toolCallId) || (seen === ended && !called.has(toolCallId))) return false
  seen.add(toolCallId)
  return true
}

/** As unguessable as the id of the original, and the same whenever it is made. */
export function copyId(sessionId: string, interactionId: string): string {
  return sha256Hex(`copy of ${interactionId} in ${sessionId}`).slice(0, 29)
}

/** A settled interaction as it stands in a log that only shows it (L1, L2). Nobody waits for it there. */
export function copyEvents(
  item: Interaction,
  { sessionId, placement, turnId }: { sessionId: string; placement: Placement; turnId: string },
): PastEvent[] {
  const { toolName, kind, presentation, request, digest, requestedAt, expiresAt, onTimeout } = item
  const { settlement = 'cancelled', settledAt = requestedAt } = item
  const { errors, progress, agentId, answer, message, by, via, updatedDigest } = item
  const { toolCallId } = placement
  const copy = {
    interactionId: copyId(sessionId, item.interactionId),
    copyOf: item.interactionId,
    toolCallId,
    turnId,
  }
  const anchored = { ...copy, toolName }
  const asked: NewEvent[] = [
    {
      type: 'interaction_pending',
      ...anchored,
      pending: true,
      presentation,
      reason: 'requested',
      ...optional({ expiresAt }),
    },
    {
      type: 'interaction_request',
      ...anchored,
      kind,
      presentation,
      request,
      digest,
      requestedAt,
      onTimeout,
      anchor: placement.by === 'id' ? 'exact' : 'matched',
      ...optional({ expiresAt, errors, progress, agentId }),
    },
  ]
  const settled: NewEvent[] = [
    {
      type: 'interaction_response',
      ...anchored,
      kind,
      digest,
      settlement,
      ...optional({ answer, message, by, via, updatedDigest }),
    },
    { type: 'interaction_pending', ...anchored, pending: false, presentation, reason: settlement },
    { type: 'interaction_delivered', ...copy, to: 'adopted' },
  ]
  return [
    ...asked.map((event) => ({ at: requestedAt, event })),
    ...settled.map((event) => ({ at: settledAt, event })),
  ]
}
