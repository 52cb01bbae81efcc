import type { Actor, Interaction, Json, NewEvent, SettlementKind, Via } from '@askback/protocol'
import type { Context } from './command.js'
import { optional } from './optional.js'

/** L2: the response, the end of pending, and the claim of whoever waits in this process. */
export function settlement(
  item: Interaction,
  how: {
    settlement: SettlementKind
    answer?: Json
    message?: string
    by?: Actor
    via?: Via
    updatedDigest?: string
  },
  context: Context,
): NewEvent[] {
  const to = context.claimant(item.interactionId)
  const { interactionId, toolCallId, toolName, kind, presentation, digest } = item
  const place = placeOf(item)
  return [
    { type: 'interaction_response', interactionId, toolCallId, toolName, kind, digest, ...how, ...place },
    {
      type: 'interaction_pending',
      interactionId,
      toolCallId,
      toolName,
      pending: false,
      presentation,
      reason: how.settlement,
      ...place,
    },
    ...(to === null ? [] : [delivered(item, to)]),
  ]
}

export function delivered(item: Interaction, to: string): NewEvent {
  return {
    type: 'interaction_delivered',
    interactionId: item.interactionId,
    toolCallId: item.toolCallId,
    to,
    ...placeOf(item),
  }
}

export function placeOf(item: { turnId?: string | undefined; responseId?: string | undefined }) {
  return optional({ turnId: item.turnId, responseId: item.responseId })
}
