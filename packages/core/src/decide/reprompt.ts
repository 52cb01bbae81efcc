import type { Interaction, Json } from '@askback/protocol'
import type { Reprompt } from '../kinds/kinds.js'
import type { Context, Decision } from './command.js'
import { pendingEvent, requestEvent, responseEvent } from './interaction-events.js'

/** L6: one append supersedes the old one and opens a new one with the errors and what was typed. */
export function reprompt(item: Interaction, { errors }: Reprompt, answer: Json, context: Context): Decision {
  const interactionId = context.newId()
  const repromptOf = item.repromptOf ?? item.interactionId
  const again = { ...item, interactionId, requestedAt: context.now, errors, progress: answer, repromptOf }
  return {
    interactionId,
    refusal: { code: 'invalid_answer', errors },
    events: [
      responseEvent(item, { settlement: 'superseded', supersededBy: interactionId }),
      pendingEvent(item, false, 'superseded'),
      pendingEvent(again, true, 'reprompted'),
      requestEvent(again),
    ],
  }
}
