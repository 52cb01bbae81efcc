import type { Settlement } from '@askback/core'
import { canonicalJson, type Interaction } from '@askback/protocol'
import { settledFields, toJson } from './log-facts.js'
import type { LoggedInteraction, LogModel } from './log-model.js'
import { holds } from './violation.js'

/** An interaction that a desk returns agrees with the log: nothing is returned before it is committed. */
export function checkReturned(model: LogModel, returned: Interaction): LoggedInteraction {
  const { interactionId } = returned
  const logged = model.known(interactionId)
  const { request, response, claim, session } = logged
  holds(returned.digest === request.digest, 'L12', () => `${interactionId} was returned with another digest`)
  const claimed = claim !== undefined || session.ended
  if (returned.delivered)
    holds(claimed, 'L10', () => `${interactionId} was returned as delivered without a claim`)
  if (returned.status === 'pending') return logged
  holds(
    response !== undefined,
    'durable first',
    () => `${interactionId} was returned as settled, which the log does not have`,
  )
  const said = canonicalJson(toJson(settledFields(returned)))
  const is = canonicalJson(toJson(settledFields(response)))
  holds(said === is, 'L3', () => `returned ${said}, but the log has ${is}`)
  return logged
}

/** A waiter receives the settlement of the log, only after it was claimed; an approval allows at most one run (L6, L10). */
export function checkHandOver(model: LogModel, waited: string | null, returned: Interaction): void {
  const logged = checkReturned(model, returned)
  const { interactionId } = returned
  holds(returned.status === 'settled', 'L10', () => `${interactionId} was handed over while it was pending`)
  if (waited !== null) checkFollowed(model, waited, returned)
  const grants =
    returned.kind === 'approval' && returned.settlement === 'approved' && returned.delivered !== true
  // A session that is being deleted accepts no claim, so an approval without one must not allow a run.
  const claimed = logged.claim !== undefined || (logged.session.ended && !grants)
  holds(claimed, 'L10', () => `${interactionId} was handed over without a claim`)
  logged.handedOver = true
  if (!grants) return
  logged.granted++
  holds(logged.granted === 1, 'L10', () => `${interactionId} was granted ${logged.granted} times`)
}

/** The same for a settlement of the library, whose `inDoubt` says that the call may already have run. */
export function checkSettlement(model: LogModel, waited: string | null, settled: Settlement): void {
  checkHandOver(model, waited, settled.interaction)
  if (settled.settlement !== 'approved' || settled.interaction.kind !== 'approval') return
  const doubt = settled.interaction.delivered === true
  holds(settled.inDoubt === doubt, 'L10', () => `${settled.interactionId} is in doubt: ${settled.inDoubt}`)
}

/** A waiter continues with the interaction that reprompts the same request (L6), and with no other successor (L11). */
export function checkFollowed(model: LogModel, waited: string, { interactionId }: Interaction): void {
  const last = model.last(waited).request.interactionId
  holds(last === interactionId, 'L6', () => `the waiter of ${waited} got ${interactionId}, not ${last}`)
}
