/**
 * The life of one interaction, in pure functions. `reduce` and the clients' inbox both use them, so that an interaction is
 * the same wherever it is folded.
 *
 *   interaction_request ──▶ pending ──(interaction_response, then interaction_pending: false)──▶ settled
 *                           │     ▲                                                                 │
 *                           └─────┘ interaction_progress                      interaction_delivered ┘ (claimed)
 *
 * This module imports nothing at run time: the CLI loads it at every start, and the schemas would cost it more than the
 * command itself.
 */
import type { EventOf } from './events.js'
import type { Interaction } from './interaction.js'

/** @internal */
export function openInteraction(event: EventOf<'interaction_request'>, isPending = true): Interaction {
  return copyWithStatus(event, isPending ? 'pending' : 'settled')
}

/** @internal */
export function progressInteraction(item: Interaction, event: EventOf<'interaction_progress'>): Interaction {
  const next = copyWithStatus(item, item.status)
  next.progress = event.answers
  return next
}

/** @internal */
export function settleInteraction(item: Interaction, event: EventOf<'interaction_response'>): Interaction {
  return respondToInteraction(item, event, 'settled')
}

/**
 * Adds the response and keeps the status: only `interaction_pending` says whether something is pending (L2).
 *
 * @internal
 */
export function respondToInteraction(
  item: Interaction,
  event: EventOf<'interaction_response'>,
  status: Interaction['status'] = item.status,
): Interaction {
  const next = copyWithStatus(item, status)
  next.settlement = event.settlement
  next.settledAt = event.at
  if (event.answer !== undefined) next.answer = event.answer
  if (event.message !== undefined) next.message = event.message
  if (event.by !== undefined) next.by = event.by
  if (event.via !== undefined) next.via = event.via
  if (event.updatedDigest !== undefined) next.updatedDigest = event.updatedDigest
  if (event.supersededBy !== undefined) next.supersededBy = event.supersededBy
  return next
}

/** @internal */
export function closeInteraction(item: Interaction): Interaction {
  return copyWithStatus(item, 'settled')
}

/** @internal */
export function deliverInteraction(item: Interaction): Interaction {
  const next = copyWithStatus(item, item.status)
  next.delivered = true
  return next
}

/**
 * Whether an approval had been claimed before this read (L10). What it allows may have run already, so it must not be granted
 * again. Answers to other kinds, and the approval of a plan, can be returned again: no tool call would run twice.
 */
export function isInDoubt({
  settlement,
  kind,
  delivered,
}: Pick<Interaction, 'settlement' | 'kind' | 'delivered'>): boolean {
  return settlement === 'approved' && kind !== 'plan_review' && delivered === true
}

/**
 * Whether nobody answered in time and the declared `onTimeout` took effect (L5). The settlement of a rule has `via: 'policy'`, too,
 * but comes before the deadline.
 */
export function isDefaultAnswer(item: Interaction): boolean {
  const { settledAt, expiresAt } = item
  const isLate = settledAt !== undefined && expiresAt !== undefined && settledAt >= expiresAt
  return item.via === 'policy' && isLate
}

/** The interaction as a reader sees it at `now`: it becomes `overdue` with time alone, so no event says so (L5). */
export function viewInteraction(item: Interaction, now: number): Interaction {
  const overdue =
    item.status === 'pending' &&
    item.onTimeout === 'keep' &&
    item.expiresAt !== undefined &&
    now >= item.expiresAt
  return overdue ? { ...item, overdue } : item
}

/**
 * The newest interaction that already asks the same (L11): same tool call, kind and digest. One that was superseded never
 * counts, because a newer request has replaced it.
 *
 * @param items - oldest first
 * @internal
 */
export function latestSameRequest(
  items: Iterable<Interaction>,
  { toolCallId, kind, digest }: Pick<Interaction, 'toolCallId' | 'kind' | 'digest'>,
): Interaction | undefined {
  let latest: Interaction | undefined
  for (const item of items) {
    const isSame = item.toolCallId === toolCallId && item.kind === kind && item.digest === digest
    if (isSame && item.settlement !== 'superseded') latest = item
  }
  return latest
}

/**
 * Which of the pending interactions of one tool call an answer means that names no interaction: those with the digest that
 * the person has seen, or all of them if the caller names none.
 *
 * It is ambiguous if several are left. If the digest fits none of them, any will do, since each refuses the answer for its
 * digest.
 *
 * @param pending - the pending interactions of one tool call and kind
 * @internal
 */
export function pendingMeantBy(
  pending: readonly Interaction[],
  digest: string | undefined,
): { candidates: readonly Interaction[]; isAmbiguous: boolean } {
  const ofDigest = pending.filter((item) => item.digest === digest)
  const candidates = ofDigest.length > 0 ? ofDigest : pending
  const hasOtherDigest = digest !== undefined && ofDigest.length === 0
  return { candidates, isAmbiguous: candidates.length > 1 && !hasOtherDigest }
}

/**
 * Copies field by field. Adding fields to a spread of an object with this many is thirty times as slow, and would be half of
 * the cost of a fold.
 */
function copyWithStatus(from: Omit<Interaction, 'status'>, status: Interaction['status']): Interaction {
  const item: Interaction = {
    seq: from.seq,
    interactionId: from.interactionId,
    sessionId: from.sessionId,
    toolCallId: from.toolCallId,
    toolName: from.toolName,
    kind: from.kind,
    presentation: from.presentation,
    request: from.request,
    digest: from.digest,
    status,
    requestedAt: from.requestedAt,
    onTimeout: from.onTimeout,
  }
  if (from.expiresAt !== undefined) item.expiresAt = from.expiresAt
  if (from.errors !== undefined) item.errors = from.errors
  if (from.progress !== undefined) item.progress = from.progress
  if (from.repromptOf !== undefined) item.repromptOf = from.repromptOf
  if (from.anchor !== undefined) item.anchor = from.anchor
  if (from.agentId !== undefined) item.agentId = from.agentId
  if (from.openedBy !== undefined) item.openedBy = from.openedBy
  if (from.source !== undefined) item.source = from.source
  if (from.notes !== undefined) item.notes = from.notes
  if (from.turnId !== undefined) item.turnId = from.turnId
  if (from.responseId !== undefined) item.responseId = from.responseId
  if (from.settlement !== undefined) item.settlement = from.settlement
  if (from.settledAt !== undefined) item.settledAt = from.settledAt
  if (from.answer !== undefined) item.answer = from.answer
  if (from.message !== undefined) item.message = from.message
  if (from.by !== undefined) item.by = from.by
  if (from.via !== undefined) item.via = from.via
  if (from.updatedDigest !== undefined) item.updatedDigest = from.updatedDigest
  if (from.supersededBy !== undefined) item.supersededBy = from.supersededBy
  if (from.delivered !== undefined) item.delivered = from.delivered
  if (from.copyOf !== undefined) item.copyOf = from.copyOf
  return item
}
