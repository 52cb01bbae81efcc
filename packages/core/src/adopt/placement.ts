import type { AdoptedItem, Interaction, Json } from '@askback/protocol'
import type { HistoryPlacement } from '../decide/adopt.js'
import { scoreCall, SURE_SCORE } from '../decide/rendezvous.js'

// Finds the tool calls of a history that interactions belong to.

/** Longest time in milliseconds between an interaction and a call that it matches by name only. */
export const MAX_GAP_MS = 60_000

/** A tool call of the history. It ran from `at` to `endedAt`. */
export interface PastCall {
  toolCallId: string
  toolName: string
  input: Json
  at: number
  endedAt: number
}

export interface SourceInteraction {
  interaction: Interaction
  /** The person named the session it is from. Without that it is placed only if a call matches it by id or name. */
  isNamed: boolean
}

/**
 * The tool call of each interaction, by interaction id: the call with its id, else the nearest in time that names its tool, else (for
 * named sources) the nearest in time. Interactions without a call are left out.
 */
export function placeInteractions(
  calls: readonly PastCall[],
  sources: readonly SourceInteraction[],
): Map<string, HistoryPlacement> {
  const byId = new Map(calls.map((call) => [call.toolCallId, call]))
  const byTool = new Map<string, PastCall[]>()
  const callsNaming = (toolName: string) => {
    const known = byTool.get(toolName) ?? calls.filter((call) => scoreCall(toolName, call) >= SURE_SCORE)
    byTool.set(toolName, known)
    return known
  }
  const placed = new Map<string, HistoryPlacement>()
  for (const { interaction, isNamed } of sources) {
    const found = placeOne(interaction, isNamed)
    if (found) placed.set(interaction.interactionId, found)
  }
  return placed

  function placeOne(item: Interaction, isNamed: boolean): HistoryPlacement | null {
    const { toolCallId, toolName, requestedAt } = item
    if (byId.has(toolCallId)) return { toolCallId, by: 'id' }
    const named = nearest(callsNaming(toolName), requestedAt)
    if (named && (isNamed || gap(named, requestedAt) <= MAX_GAP_MS))
      return { toolCallId: named.toolCallId, by: 'command' }
    const last = isNamed ? nearest(calls, requestedAt) : undefined
    return last ? { toolCallId: last.toolCallId, by: 'time' } : null
  }
}

/** The tool calls of a history. A call without a result ends with the history. */
export function pastCalls(items: readonly AdoptedItem[]): PastCall[] {
  const calls = new Map<string, PastCall>()
  const last = items.at(-1)?.at ?? 0
  for (const item of items) {
    if (item.type === 'tool_call' && !calls.has(item.toolCallId)) {
      const { toolCallId, toolName, input, at } = item
      calls.set(toolCallId, { toolCallId, toolName, input, at, endedAt: Math.max(at, last) })
    } else if (item.type === 'tool_result') {
      const call = calls.get(item.toolCallId)
      if (call) call.endedAt = Math.max(call.at, item.at)
    }
  }
  return [...calls.values()]
}

/** The call with the smallest gap to the time; among equal gaps the one that began nearest to it. */
function nearest(calls: readonly PastCall[], time: number): PastCall | undefined {
  let best: PastCall | undefined
  for (const call of calls) {
    if (!best) best = call
    else {
      const closer = gap(call, time) - gap(best, time)
      if (closer < 0 || (closer === 0 && Math.abs(call.at - time) < Math.abs(best.at - time))) best = call
    }
  }
  return best
}

/** Milliseconds between a time and the run of a call; 0 while it ran. */
function gap({ at, endedAt }: PastCall, time: number): number {
  return Math.max(at - time, time - endedAt, 0)
}
