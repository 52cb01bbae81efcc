import {
  sha256Hex,
  type Actor,
  type AdoptBody,
  type AdoptedItem,
  type Interaction,
  type NewEvent,
} from '@askback/protocol'
import { optional } from '../optional.js'
import type { HistoryPart, PastEvent, HistoryPlacement } from '../decide/adopt.js'
import { truncateOutput } from '../decide/report.js'

// Turns the history of an agent's session into log events.

/** Limits of one append: a long history is written in several. */
const MAX_EVENTS = 200
const MAX_BYTES = 512 * 1024

export interface History extends Pick<AdoptBody, 'items'> {
  sessionId: string
  /** Interactions of scripts that the agent ran, by the id of the tool call that ran them. */
  interactions: ReadonlyMap<string, { interaction: Interaction; placement: HistoryPlacement }[]>
  by: Actor
}

/**
 * Makes the events of a history, part by part. Ids are derived from the history, so that a part that is made again, by another
 * process or after a crash, is the same. Turns have a `turn_ended` but no `turn_started`, because none of them runs here.
 */
export class HistoryLog {
  readonly #history: History
  /** For each item the number of its turn, from 1. */
  readonly #turns: number[] = []
  /** For each item whether it is logged. */
  readonly #isLogged: boolean[] = []

  constructor(history: History) {
    this.#history = history
    const called = new Set<string>()
    const ended = new Set<string>()
    let turn = 0
    for (const item of history.items) {
      if (item.type === 'user_message' || turn === 0) turn += 1
      this.#turns.push(turn)
      this.#isLogged.push(isFirst(item, called, ended))
    }
  }

  /** The part that begins with the item at this index. */
  part(first: number): HistoryPart {
    const { items } = this.#history
    const part: HistoryPart = { events: [], late: [], next: null }
    let bytes = 0
    for (let index = first; index < items.length; index += 1) {
      if (part.events.length >= MAX_EVENTS || bytes >= MAX_BYTES) return { ...part, next: index }
      if (this.#isLogged[index]) bytes += this.#add(part, index)
      if (this.#turns[index + 1] !== this.#turns[index]) part.events.push(this.#turnEnd(index))
    }
    return part
  }

  /** Returns its approximate size in bytes. */
  #add(part: HistoryPart, index: number): number {
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
        this.#addInteractions(part, toolCallId, turnId)
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

  #addInteractions(part: HistoryPart, toolCallId: string, turnId: string): void {
    const { sessionId, interactions } = this.#history
    for (const { interaction, placement } of interactions.get(toolCallId) ?? []) {
      const { interactionId, sessionId: sourceId, status } = interaction
      if (status === 'pending') part.late.push({ interactionId, sourceId, placement, turnId })
      else part.events.push(...copyEvents(interaction, { sessionId, placement, turnId }))
    }
  }

  #turnEnd(index: number): PastEvent {
    const { at } = this.#history.items[index]!
    return { at, event: { type: 'turn_ended', turnId: this.#turnId(index), reason: 'done' } }
  }

  #turnId(index: number): string {
    return `past-${this.#turns[index]}`
  }
}

/** A repeated call, a repeated result, and a result without a call are left out. */
function isFirst(item: AdoptedItem, called: Set<string>, ended: Set<string>): boolean {
  if (item.type !== 'tool_call' && item.type !== 'tool_result') return true
  const { toolCallId } = item
  const seen = item.type === 'tool_call' ? called : ended
  if (seen.has(toolCallId) || (seen === ended && !called.has(toolCallId))) return false
  seen.add(toolCallId)
  return true
}

/** The id of a copy: derived, so that it is the same each time, and as hard to guess as the original. */
export function copyId(sessionId: string, interactionId: string): string {
  return sha256Hex(`copy of ${interactionId} in ${sessionId}`).slice(0, 29)
}

/** The events of a settled interaction in a session that only shows it (L1, L2). It is claimed, so nothing waits for it. */
export function copyEvents(
  item: Interaction,
  { sessionId, placement, turnId }: { sessionId: string; placement: HistoryPlacement; turnId: string },
): PastEvent[] {
  const { toolName, kind, presentation, request, digest, requestedAt, expiresAt, onTimeout } = item
  const { settlement = 'cancelled', settledAt = requestedAt } = item
  const { errors, progress, agentId, notes, answer, message, by, via, updatedDigest } = item
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
      ...optional({ expiresAt, errors, progress, agentId, notes }),
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
