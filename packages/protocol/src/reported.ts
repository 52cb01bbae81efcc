import { z } from 'zod'
import { sessionEvent, type EventType, type NewEventOf } from './events.js'

/** What an agent may tell of its own doing. */
export type Reported = NewEventOf<
  | 'turn_started'
  | 'turn_ended'
  | 'text'
  | 'thinking'
  | 'tool_call'
  | 'tool_result'
  | 'agent_session'
  | 'context_cleared'
  | 'error'
>

const types: Record<Reported['type'], true> = {
  turn_started: true,
  turn_ended: true,
  text: true,
  thinking: true,
  tool_call: true,
  tool_result: true,
  agent_session: true,
  context_cleared: true,
  error: true,
}

const schemas = new Map<EventType, z.ZodObject>()
for (const option of sessionEvent.options) {
  const type = option.shape.type.value
  // Its place in the log is not the agent's to tell.
  if (type in types)
    schemas.set(type, (option as z.ZodObject).omit({ seq: true, id: true, sessionId: true, at: true }))
}

/** Events of other types are refused, and fields that an event does not have are left out. */
export const reported = z.array(
  z.unknown().transform((value, context): Reported => {
    const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined
    const schema = schemas.get(type as EventType)
    if (!schema) {
      context.addIssue({ code: 'custom', message: 'is nothing that an agent reports' })
      return z.NEVER
    }
    const parsed = schema.safeParse(value)
    if (parsed.success) return parsed.data as Reported
    for (const { path, message } of parsed.error.issues) context.addIssue({ code: 'custom', path, message })
    return z.NEVER
  }),
)
