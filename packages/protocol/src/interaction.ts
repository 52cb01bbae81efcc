import { z } from 'zod'
import { json } from './approval.js'

export const presentation = z.enum(['tool', 'questionnaire'])
export const settlementKind = z.enum([
  'answered',
  'approved',
  'denied',
  'cancelled',
  'timed_out',
  'superseded',
])
export const via = z.enum(['web', 'http', 'cli', 'terminal', 'telegram', 'mcp', 'direct', 'policy'])
export const actor = z.object({ id: z.string(), name: z.string().optional() })
export const onTimeout = z.union([z.literal('deny'), z.literal('keep'), z.strictObject({ answer: json })])

/**
 * How an interaction found its tool call. `exact`: the asker named it or owns it, so the end of the call cancels the
 * interaction (L7). `matched`: the rendezvous chose it. `own`: it stands for itself.
 */
export const requestSource = z.enum(['cli', 'http', 'mcp', 'hook'])
export const anchor = z.enum(['exact', 'matched', 'own'])

export type Presentation = z.infer<typeof presentation>
export type SettlementKind = z.infer<typeof settlementKind>
export type Via = z.infer<typeof via>
export type Actor = z.infer<typeof actor>
export type OnTimeout = z.infer<typeof onTimeout>
export type RequestSource = z.infer<typeof requestSource>
export type Anchor = z.infer<typeof anchor>

export const interaction = z.object({
  /** That of its request: the order in which a session asked. */
  seq: z.int().optional(),
  interactionId: z.string(),
  sessionId: z.string(),
  toolCallId: z.string(),
  toolName: z.string(),
  kind: z.string(),
  presentation,
  request: json,
  digest: z.string(),
  status: z.enum(['pending', 'settled']),
  requestedAt: z.number(),
  expiresAt: z.number().optional(),
  onTimeout,
  overdue: z.boolean().optional(),
  errors: z.record(z.string(), z.string()).optional(),
  progress: json.optional(),
  /** What was asked first, before any answer that did not pass (L6): the same request, to whoever is asked. */
  repromptOf: z.string().optional(),
  anchor: anchor.optional(),
  agentId: z.string().optional(),
  /** The credential that asked: what it reads of the settlement counts as handed over (L10). */
  openedBy: z.string().optional(),
  /** How the request came, where no adapter in the gateway made it. */
  source: requestSource.optional(),
  settlement: settlementKind.optional(),
  answer: json.optional(),
  message: z.string().optional(),
  by: actor.optional(),
  via: via.optional(),
  settledAt: z.number().optional(),
  updatedDigest: z.string().optional(),
  supersededBy: z.string().optional(),
  delivered: z.boolean().optional(),
  /** In an adopted session: the interaction that this one shows. */
  copyOf: z.string().optional(),
  turnId: z.string().optional(),
  responseId: z.string().optional(),
})

export type Interaction = z.infer<typeof interaction>

/** Nobody answered in time, and what was declared for that case took effect (L5). A rule answers when it is asked. */
export function isDefaultAnswer(item: Interaction): boolean {
  const { settledAt, expiresAt } = item
  const isLate = settledAt !== undefined && expiresAt !== undefined && settledAt >= expiresAt
  return item.via === 'policy' && isLate
}

/** What a reader sees at `now`: `overdue` is a matter of time, so no event says it (L5). */
export function viewInteraction(item: Interaction, now: number): Interaction {
  const overdue =
    item.status === 'pending' &&
    item.onTimeout === 'keep' &&
    item.expiresAt !== undefined &&
    now >= item.expiresAt
  return overdue ? { ...item, overdue } : item
}
