import * as z from 'zod'
import { AskbackError } from './errors.js'
import { json } from './json.js'

/** `tool`: shown as part of its tool call. `questionnaire`: shown as a card of its own. */
export const presentation = z.enum(['tool', 'questionnaire'])

/** How an interaction ended. `cancelled`, `timed_out` and `superseded` come without an answer. */
export const settlementKind = z.enum([
  'answered',
  'approved',
  'denied',
  'cancelled',
  'timed_out',
  'superseded',
])

/** The surface that an answer came from; `policy` where a rule, a mode or a deadline decided and no person did. */
export const via = z.enum(['web', 'http', 'cli', 'terminal', 'telegram', 'mcp', 'direct', 'policy'])

/** The person who acted, as authentication knows them. */
export const actor = z.object({ id: z.string(), name: z.string().optional() })

/** What happens at the deadline (L5): deny it, keep it answerable, or settle it with this answer. */
export const onTimeout = z.union([z.literal('deny'), z.literal('keep'), z.strictObject({ answer: json })])

/** How a request reached the gateway, where no adapter inside the gateway made it. */
export const requestSource = z.enum(['cli', 'http', 'mcp', 'hook'])

/**
 * How an interaction found its tool call. `exact`: the request named the call, or its adapter owns it, so the end of the
 * call cancels the interaction (L7). `matched`: the rendezvous chose the call. `own`: there is none, so the interaction is shown by itself.
 */
export const anchor = z.enum(['exact', 'matched', 'own'])

/**
 * What the gateway itself tells the person about a request. Only code inside the gateway can add one, so a surface may show
 * its text as Askback's own words: `request` holds nothing but words of the agent.
 */
export const requestNote = z.enum(['only_always', 'not_as_approved'])

/** The text of each note. */
export const requestNoteTexts = {
  only_always:
    'The agent offers only “always” for this call. Askback grants no more than you approve, so approving will cancel the call.',
  not_as_approved: 'This is not the call that was approved before the restart.',
} as const satisfies Record<z.infer<typeof requestNote>, string>

export type Presentation = z.infer<typeof presentation>
export type SettlementKind = z.infer<typeof settlementKind>
export type Via = z.infer<typeof via>
export type Actor = z.infer<typeof actor>
export type OnTimeout = z.infer<typeof onTimeout>
export type RequestSource = z.infer<typeof requestSource>
export type RequestNote = z.infer<typeof requestNote>
export type Anchor = z.infer<typeof anchor>

/** Who asked, and what the gateway says about it, in the event of a request and in its interaction. */
export const asker = {
  /** The subagent that asked. */
  agentId: z.string().optional(),
  /** The credential that asked. When it reads the settlement, that counts as a claim (L10). */
  openedBy: z.string().optional(),
  source: requestSource.optional(),
  notes: z.array(requestNote).optional(),
}

/** One request to a person and, once it is settled, its settlement. Times are epoch milliseconds of server time. */
export const interaction = z.object({
  /** The `seq` of its `interaction_request`, so it orders the requests of a session. */
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
  /** Set when reading, never stored: see `viewInteraction`. */
  overdue: z.boolean().optional(),
  /** What was wrong with the answer before, by field, if this request asks again (L6). */
  errors: z.record(z.string(), z.string()).optional(),
  /** The replies so far, of a question that is answered one part at a time. */
  progress: json.optional(),
  /** The interaction that asked first, if this one asks again after an answer that did not pass (L6). */
  repromptOf: z.string().optional(),
  anchor: anchor.optional(),
  ...asker,
  settlement: settlementKind.optional(),
  answer: json.optional(),
  message: z.string().optional(),
  by: actor.optional(),
  via: via.optional(),
  settledAt: z.number().optional(),
  /** The digest of the input or plan as a person edited it. */
  updatedDigest: z.string().optional(),
  supersededBy: z.string().optional(),
  /** Whether the agent has claimed the settlement (L10). */
  delivered: z.boolean().optional(),
  /** In an adopted session: the id of the interaction that this one is a copy of. */
  copyOf: z.string().optional(),
  turnId: z.string().optional(),
  responseId: z.string().optional(),
})

export type Interaction = z.infer<typeof interaction>

/**
 * The interaction in the `details` of an error: the one that won (`already_settled`), or the one that asks again
 * (`invalid_answer` of a form). `null` if the error has none.
 *
 * @example
 * try {
 *   await transport.respond(input)
 * } catch (error) {
 *   const winner = interactionInError(error)
 *   if (winner) console.log(`It was settled as ${winner.settlement}.`)
 * }
 */
export function interactionInError(error: unknown): Interaction | null {
  const details = error instanceof AskbackError ? error.details : undefined
  if (typeof details !== 'object' || details === null || !('interaction' in details)) return null
  const parsed = interaction.safeParse(details.interaction)
  return parsed.success ? parsed.data : null
}
