import { z } from 'zod'
import { json } from './approval.js'

const at = z.number()
const id = z.string().min(1).max(500)

/** The agent's session that was started elsewhere. */
const adoptHead = z.object({
  /** Which adapter goes on with it. */
  agent: z.string().min(1),
  agentSessionId: id,
  cwd: z.string().optional(),
  title: z.string().optional(),
  /** A session here in which its scripts have asked. */
  from: id.optional(),
})

/** One thing that happened in it, in the order it happened. */
export const adoptedItem = z.discriminatedUnion('type', [
  z.object({ type: z.literal('user_message'), at, text: z.string() }),
  z.object({ type: z.literal('text'), at, text: z.string() }),
  z.object({ type: z.literal('thinking'), at, text: z.string() }),
  z.object({ type: z.literal('tool_call'), at, toolCallId: id, toolName: z.string(), input: json }),
  z.object({
    type: z.literal('tool_result'),
    at,
    toolCallId: id,
    output: json,
    isError: z.boolean(),
    /** The bytes that there were, if `output` is only a part of them. */
    truncated: z.int().min(0).optional(),
  }),
])

export const adoptBody = adoptHead.extend({ items: z.array(adoptedItem) })

export type AdoptedItem = z.infer<typeof adoptedItem>
export type AdoptBody = z.infer<typeof adoptBody>
