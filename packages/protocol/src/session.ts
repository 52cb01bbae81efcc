import { z } from 'zod'

export const permissionMode = z.enum(['default', 'acceptEdits', 'plan', 'bypassPermissions'])
export const sessionStatus = z.enum(['idle', 'running', 'waiting', 'ended', 'failed'])

export type PermissionMode = z.infer<typeof permissionMode>
export type SessionStatus = z.infer<typeof sessionStatus>

export const session = z.object({
  id: z.string(),
  agent: z.string().nullable(),
  title: z.string().nullable(),
  cwd: z.string().nullable(),
  status: sessionStatus,
  permissionMode,
  createdAt: z.number(),
})

export type Session = z.infer<typeof session>

/** L13, computed in one place for the server's events and every client's view. */
export function statusOf(facts: {
  agent: string | null
  turnActive: boolean
  pending: number
  failed: boolean
  ended: boolean
}): SessionStatus {
  if (facts.ended) return 'ended'
  if (facts.pending > 0 && (facts.turnActive || facts.agent === null)) return 'waiting'
  if (facts.turnActive) return 'running'
  return facts.failed ? 'failed' : 'idle'
}
