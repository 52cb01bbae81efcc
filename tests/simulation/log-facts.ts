import type { EventOf, Interaction, Json, SessionStatus } from '@askback/protocol'
import type { LoggedSession } from './log-model.js'

/** L13, implemented independently of the code under test. */
export function statusOf({ ended, pending, activeTurnId, agent, failed }: LoggedSession): SessionStatus {
  if (ended) return 'ended'
  const attended = activeTurnId !== null || agent === null
  if (attended && pending.size > 0) return 'waiting'
  return activeTurnId === null ? (failed ? 'failed' : 'idle') : 'running'
}

/** L4: from its deadline on, an interaction can only settle as the deadline says. */
export function isLate({ expiresAt, onTimeout }: EventOf<'interaction_request'>, at: number): boolean {
  return expiresAt !== undefined && onTimeout !== 'keep' && at >= expiresAt
}

/** The fields that the returned interaction and the response event must agree on. */
export function settledFields(
  from: EventOf<'interaction_response'> | Interaction,
): Record<string, Json | undefined> {
  const { interactionId, digest, settlement, answer, message, by, via, updatedDigest, supersededBy } = from
  const who = by && { id: by.id, name: by.name ?? '' }
  return { interactionId, digest, settlement, answer, message, by: who, via, updatedDigest, supersededBy }
}

/** A copy as it would arrive over the wire: without undefined fields. */
export function toJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null)) as Json
}
