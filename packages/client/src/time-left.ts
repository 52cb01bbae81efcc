import type { Interaction } from '@askback/protocol'

/**
 * Milliseconds until its deadline, by the server's clock: never less than none, never more than it was given. `null` if it
 * has no deadline, or needs none any more.
 */
export function timeLeft(
  { status, requestedAt, expiresAt }: Pick<Interaction, 'status' | 'requestedAt' | 'expiresAt'>,
  serverNow: number,
): number | null {
  if (status === 'settled' || expiresAt === undefined) return null
  return Math.max(0, Math.min(expiresAt - serverNow, expiresAt - requestedAt))
}
