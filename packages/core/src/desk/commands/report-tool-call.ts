import type { ToolCall, ToolCallBody } from '@askback/protocol'
import type { Caller } from '../../decide/caller.js'
import { optional } from '../../optional.js'
import type { Engine } from '../engine.js'
import type { IdempotencyKey } from '../idempotency.js'

type ReportedToolCall = ToolCallBody & { sessionId: string; source?: NonNullable<ToolCall['source']> }

/** Records a tool call of an agent outside of the gateway. A repeated id or idempotency key writes nothing. */
export async function reportToolCall(
  engine: Engine,
  { fence }: Caller,
  input: ReportedToolCall,
  key: IdempotencyKey | undefined,
): Promise<{ toolCall: ToolCall; created: boolean }> {
  const { sessionId, toolCallId = engine.options.newId(), ...call } = input
  const reported = optional({ toolCallId, ...call })
  const result = await engine.run(
    sessionId,
    { type: 'report', events: [{ type: 'tool_call', ...reported }] },
    { key, fence },
  )
  const event = result.events.find((each) => each.type === 'tool_call')
  const id = event?.toolCallId ?? toolCallId
  const known = await engine.read(sessionId, (state) => state.toolCalls.get(id))
  // A repeated call may be outside the state's window.
  const toolCall = known ?? { ...reported, toolCallId: id, at: event?.at ?? engine.options.clock.now() }
  return { toolCall, created: event !== undefined && !result.repeated }
}
