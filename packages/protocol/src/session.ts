import * as z from 'zod'

/** Which approvals need a person; see the table "Permission modes" in docs/PROTOCOL.md. */
export const permissionMode = z.enum(['default', 'acceptEdits', 'plan', 'bypassPermissions'])
/** What a session is doing, in a word. */
export const sessionStatus = z.enum(['idle', 'running', 'waiting', 'ended', 'failed'])

export type PermissionMode = z.infer<typeof permissionMode>
export type SessionStatus = z.infer<typeof sessionStatus>

/**
 * What the program around Askback knows of a session, such as the customer that it belongs to. Askback only stores tags; `authorize`
 * of an embedder decides by them who may see a session. What a caller sends is checked by `sessionTagsInput`.
 */
export const sessionTags = z.record(z.string(), z.string())

export type SessionTags = z.infer<typeof sessionTags>

/** A session as lists show it. */
export const session = z.object({
  id: z.string(),
  /** The id of its agent adapter; `null` if outside agents use it. */
  agent: z.string().nullable(),
  title: z.string().nullable(),
  cwd: z.string().nullable(),
  status: sessionStatus,
  permissionMode,
  /** Epoch milliseconds of server time. */
  createdAt: z.number(),
  /** Missing if it has none. */
  tags: sessionTags.optional(),
  /** Whether its agent has said that it acts without asking a person. Only a snapshot has this field, lists do not. */
  decidesAlone: z.literal(true).optional(),
})

export type Session = z.infer<typeof session>

/** The status of a session (L13). Server and clients compute it here, so that they cannot disagree. */
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
