import { actor, interaction, json, sessionEvent } from '@askback/protocol'
import * as z from 'zod'

export const sessionParams = z.object({ id: z.string() })
export const interactionParams = z.object({ id: z.string(), interactionId: z.string() })

/** A whole number in a query. */
function wholeNumber({ min, max }: { min: number; max: number }) {
  return z
    .string()
    .regex(/^\d{1,16}$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be ${min} to ${max}`)
    .meta({ sentAs: { type: 'integer', minimum: min, maximum: max } })
}

export const page = z.object({
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the `next` of an earlier page')
    .meta({ description: 'The `next` of the page before.' })
    .optional(),
  limit: wholeNumber({ min: 1, max: 1000 }).optional(),
})

/** How long to wait for a settlement, in seconds. */
export const waiting = z.object({
  wait: z
    .string()
    .regex(/^\d{1,4}(\.\d{1,3})?$/, 'must be a number of seconds')
    .transform(Number)
    .refine((seconds) => seconds <= 60, 'must be 0 to 60 seconds')
    .meta({ sentAs: { type: 'number', minimum: 0, maximum: 60 }, description: 'How many seconds to wait.' })
    .optional(),
})

const flag = z
  .enum(['0', '1'])
  .transform((value) => value === '1')
  .optional()

/** Whether to read the store first, so that events of other gateways are included. */
export const freshness = z.object({ fresh: flag })

/** Whether the response claims the settlement for the credential that opened the interaction (L10). */
export const claiming = z.object({ claim: flag })

export const next = z.string().nullable()
export const ok = z.object({ ok: z.literal(true) })
export const interactionBody = z.object({ interaction })
export const eventPageBody = z.object({ events: z.array(sessionEvent), next: z.int().nullable() })
export const settledBody = z.object({ interaction, events: z.array(sessionEvent) })

export const agent = z.object({
  id: z.string(),
  name: z.string(),
  available: z.boolean(),
  /** What is missing, if it is not available. */
  reason: z.string().optional(),
  uses: z.string().optional(),
})

export const rule = z.object({
  id: z.string(),
  scope: z.enum(['session', 'always']),
  toolName: z.string(),
  input: json,
  sessionId: z.string().optional(),
  cwd: z.string().optional(),
  agent: z.string().nullable().optional(),
  by: actor.optional(),
  at: z.number(),
})

export const toolCall = z.object({
  toolCallId: z.string(),
  toolName: z.string(),
  input: json.optional(),
  at: z.number(),
  turnId: z.string().optional(),
  responseId: z.string().optional(),
})

export const okResponse = { status: 200, body: { ok: true } } as const
export const acceptedResponse = { status: 202, body: { ok: true } } as const
