import * as z from 'zod'
import { actor, settlementKind, via } from './interaction.js'

/** One settlement, as `GET /audit` lists it. */
export const auditDecision = z.object({
  at: z.number(),
  sessionId: z.string(),
  interactionId: z.string(),
  toolCallId: z.string(),
  toolName: z.string(),
  kind: z.string(),
  settlement: settlementKind,
  by: actor.optional(),
  via: via.optional(),
  digest: z.string(),
  message: z.string().optional(),
})

/** Something else that changed who may do what, and who did it. */
export const auditAct = z.object({
  at: z.number(),
  act: z.enum([
    'permission_mode',
    'token_created',
    'token_revoked',
    'rule_created',
    'rule_deleted',
    'login',
    'logout',
    'paired',
    'unpaired',
    'session_deleted',
    'session_tags',
  ]),
  by: actor.optional(),
  via: via.optional(),
  sessionId: z.string().optional(),
  /** What the act changed: a mode, a person, the id of a rule, the account in a chat. */
  subject: z.string().optional(),
})

/** One row of the audit. */
export const auditRow = z.union([auditAct, auditDecision])

export type AuditDecision = z.infer<typeof auditDecision>
export type AuditAct = z.infer<typeof auditAct>
export type AuditRow = z.infer<typeof auditRow>
