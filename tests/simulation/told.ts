import type { Settlement } from '@askback/core'
import { canonicalJson, type Interaction } from '@askback/protocol'
import { settledFields, toJson } from './log-facts.js'
import type { Asked, LogModel } from './log-model.js'
import { holds } from './violation.js'

/** Whatever a desk tells of an interaction stands in the log by then. */
export function checkTold(model: LogModel, told: Interaction): Asked {
  const { interactionId } = told
  const asked = model.known(interactionId)
  const { request, response, claim, session } = asked
  holds(told.digest === request.digest, 'L12', () => `${interactionId} was told with another digest`)
  const claimed = claim !== undefined || session.ended
  if (told.delivered) holds(claimed, 'L10', () => `${interactionId} was told as delivered`)
  if (told.status === 'pending') return asked
  holds(response !== undefined, 'durable first', () => `${interactionId} was told as settled`)
  const said = canonicalJson(toJson(settledFields(told)))
  const is = canonicalJson(toJson(settledFields(response)))
  holds(said === is, 'L3', () => `told ${said}, but the log says ${is}`)
  return asked
}

/** What a waiter gets is how the log says it ended, claimed before, and an approval that may run once (L6, L10). */
export function checkHandOver(model: LogModel, waited: string | null, told: Interaction): void {
  const asked = checkTold(model, told)
  const { interactionId } = told
  holds(told.status === 'settled', 'L10', () => `${interactionId} was handed over while it was pending`)
  if (waited !== null) checkFollowed(model, waited, told)
  const grants = told.kind === 'approval' && told.settlement === 'approved' && told.delivered !== true
  // A session that is being deleted takes no claim any more: then nothing may run.
  const claimed = asked.claim !== undefined || (asked.session.ended && !grants)
  holds(claimed, 'L10', () => `${interactionId} was handed over without a claim`)
  asked.handedOver = true
  if (!grants) return
  asked.granted++
  holds(asked.granted === 1, 'L10', () => `${interactionId} was granted ${asked.granted} times`)
}

/** The same for a settlement as the library gives it, which says on its own whether the call may run. */
export function checkSettlement(model: LogModel, waited: string | null, settled: Settlement): void {
  checkHandOver(model, waited, settled.interaction)
  if (settled.settlement !== 'approved' || settled.interaction.kind !== 'approval') return
  const doubt = settled.interaction.delivered === true
  holds(settled.inDoubt === doubt, 'L10', () => `${settled.interactionId} is in doubt: ${settled.inDoubt}`)
}

/** L6: who waits goes on where the same is asked again, and only there (L11). */
export function checkFollowed(model: LogModel, waited: string, { interactionId }: Interaction): void {
  const last = model.last(waited).request.interactionId
  holds(last === interactionId, 'L6', () => `who waited for ${waited} got ${interactionId}, not ${last}`)
}
