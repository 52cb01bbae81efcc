import type { Interaction, Json } from '@askback/protocol'
import type { Context, Decision } from './command.js'
import type { Reprompt } from './kinds.js'
import { optional } from './optional.js'
import { placeOf } from './settled-events.js'

/** L6: in one append the old one gives way to a new one that carries the errors and what was typed. */
export function reprompt(item: Interaction, { errors }: Reprompt, answer: Json, context: Context): Decision {
  const interactionId = context.newId()
  const {
    toolCallId,
    toolName,
    kind,
    presentation,
    digest,
    request,
    onTimeout,
    expiresAt,
    agentId,
    openedBy,
    anchor,
  } = item
  const place = placeOf(item)
  const deadline = optional({ expiresAt })
  return {
    interactionId,
    refusal: { code: 'invalid_answer', errors },
    events: [
      {
        type: 'interaction_response',
        interactionId: item.interactionId,
        toolCallId,
        toolName,
        kind,
        digest,
        settlement: 'superseded',
        supersededBy: interactionId,
        ...place,
      },
      {
        type: 'interaction_pending',
        interactionId,
        toolCallId,
        toolName,
        pending: true,
        presentation,
        reason: 'reprompted',
        ...deadline,
        ...place,
      },
      {
        type: 'interaction_request',
        interactionId,
        toolCallId,
        toolName,
        kind,
        presentation,
        request,
        digest,
        requestedAt: context.now,
        ...deadline,
        onTimeout,
        errors,
        progress: answer,
        ...optional({ agentId, openedBy, anchor }),
        ...place,
      },
    ],
  }
}
