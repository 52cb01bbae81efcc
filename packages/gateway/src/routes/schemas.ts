import { interaction, sessionEvent } from '@askback/protocol'
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
}

export const page = z.object({
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the `next` of an earlier page')
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
export const settledBody = z.object({ interaction, events: z.array(sessionEvent) })

export const okResponse = { status: 200, body: { ok: true } } as const
export const acceptedResponse = { status: 202, body: { ok: true } } as const
