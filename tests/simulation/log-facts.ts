import type { EventOf, Interaction, Json, SessionStatus } from '@askback/protocol'
import type { LoggedSession } from './log-model.js'

/** L13, in other words than those that are tested. */
export function statusOf({ ended, pending, activeTurnId, agent, failed }: LoggedSession): SessionStatus {
  if (ended) return 'ended'
  const attended = activeTurnId !== null || agent === null
  if (attended && pending.size > 0) return 'waiting'
  return activeTurnId === null ? (failed ? 'failed' : 'idle') : 'running'
}

/** L4: from then on only the deadline's own outcome counts. */
export function isLate({ expiresAt, onTimeout }: EventOf<'interaction_request'>, at: number): boolean {
  return expiresAt !== undefined && onTimeout !== 'keep' && at >= expiresAt
}

/** What a reader must see of a settled interaction. */
export function settledFields(
  from: EventOf<'interaction_response'> | Interaction,
): Record<string, Json | undefined> {
  const { interactionId, digest, settlement, answer, message, by, via, updatedDigest, supersededBy } = from
  const who = by && { id: by.id, name: by.name ?? '' }
  return { interactionId, digest, settlement, answer, message, by: who, via, updatedDigest, supersededBy }
}

/** A copy as it would come over the wire: without what is undefined. */
export function toJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null)) as Json
}
