import { json, sha256Hex } from '@askback/protocol'
import * as z from 'zod'

/** Ids are the client's own; they are only compared and hashed. */
const id = z.string().min(1, 'must not be empty').max(500, 'must have at most 500 characters')

/** As many as a session may have pending, by default. Each is looked up before one is answered. */
const MAX_ENTRIES = 5000

const message = z.looseObject({ id, role: z.string(), content: json.optional() })

const resumeEntry = z.looseObject({
  interruptId: id,
  status: z.enum(['resolved', 'cancelled']),
  payload: json.optional(),
})

/** `RunAgentInput` of AG-UI 1.0, as far as it is used here. */
export const runAgentInput = z.looseObject({
  threadId: id,
  runId: id,
  messages: z.array(message),
  resume: z.array(resumeEntry).max(MAX_ENTRIES, `must have at most ${MAX_ENTRIES} entries`).optional(),
  /** How to make the session of a new thread. */
  forwardedProps: z
    .looseObject({
      agent: z.string().nullish(),
      cwd: z.string().optional(),
      title: z.string().optional(),
      model: z.string().optional(),
    })
    .nullish(),
})

export type RunAgentInput = z.infer<typeof runAgentInput>
export type ResumeEntry = z.infer<typeof resumeEntry>

/** A message of the person that the agent may not have got yet. */
export interface NewMessage {
  id: string
  /** `null` if it has no text. */
  text: string | null
}

/** A run has the whole conversation. Only its last message can be new, and only if a person wrote it. */
export function lastMessage({ messages }: RunAgentInput): NewMessage | null {
  const last = messages.at(-1)
  if (!last || last.role !== 'user') return null
  return { id: last.id, text: textOf(last.content) }
}

function textOf(content: unknown): string | null {
  if (typeof content === 'string') return content.trim() === '' ? null : content
  if (!Array.isArray(content)) return null
  const texts = content.map((part: unknown) => textPart.safeParse(part).data?.text)
  const isText = texts.length > 0 && texts.every((text) => text !== undefined)
  return isText ? texts.join('\n') : null
}

const textPart = z.looseObject({ type: z.literal('text'), text: z.string().min(1) })

/** Names one write of a run, so that a repeated run counts once. */
export function writeKey(...parts: string[]): string {
  return sha256Hex(JSON.stringify(parts))
}
