import type { AdoptedItem, Interaction, Json } from '@askback/protocol'
import { scoreCall } from './rendezvous.js'

/** A score that names tool and operation. */
const SURE = 3
/** How far from its call an interaction may be that is only like it. */
export const NEAR_MS = 60_000

/** A tool call of the history, with the time that it ran. */
export interface PastCall {
  toolCallId: string
  toolName: string
  input: Json
  at: number
  endedAt: number
}

export interface Held {
  interaction: Interaction
  /** Somebody has said that it belongs to this history; else its call must show it. */
  isNamed: boolean
}

export interface Placement {
  toolCallId: string
  by: 'id' | 'command' | 'time'
}

/** The calls that interactions belong to: by id, then by tool name and command, then by the nearest time. */
export function place(calls: readonly PastCall[], held: readonly Held[]): Map<string, Placement> {
  const byId = new Map(calls.map((call) => [call.toolCallId, call]))
  const alike = new Map<string, PastCall[]>()
  const callsLike = (toolName: string) => {
    const known = alike.get(toolName) ?? calls.filter((call) => scoreCall(toolName, call) >= SURE)
    alike.set(toolName, known)
    return known
  }
  const placed = new Map<string, Placement>()
  for (const { interaction, isNamed } of held) {
    const found = placeOne(interaction, isNamed)
    if (found) placed.set(interaction.interactionId, found)
  }
  return placed

  function placeOne(item: Interaction, isNamed: boolean): Placement | null {
    const { toolCallId, toolName, requestedAt } = item
    if (byId.has(toolCallId)) return { toolCallId, by: 'id' }
    const meant = nearest(callsLike(toolName), requestedAt)
    if (meant && (isNamed || gap(meant, requestedAt) <= NEAR_MS))
      return { toolCallId: meant.toolCallId, by: 'command' }
    const last = isNamed ? nearest(calls, requestedAt) : undefined
    return last ? { toolCallId: last.toolCallId, by: 'time' } : null
  }
}

/** The calls of a history, each until its result, or the end where it has none. */
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

/** One that ran at that time goes before others, of those the one that had begun last. */
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

function gap({ at, endedAt }: PastCall, time: number): number {
  return Math.max(at - time, time - endedAt, 0)
}
