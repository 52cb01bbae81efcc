import type { ToolCall, ToolCallBody } from '@askback/protocol'
import { optional } from '../../optional.js'
import type { Fence } from '../../store/store.js'
import type { Engine } from '../engine.js'
import type { IdempotencyKey } from '../idempotency.js'

type Reporting = ToolCallBody & { sessionId: string; source?: NonNullable<ToolCall['source']> }

/** Records a call that happens outside. The same id, or the same key, a second time writes nothing. */
export async function reportToolCall(
  engine: Engine,
  input: Reporting,
  key: IdempotencyKey | undefined,
  fence?: Fence,
): Promise<{ toolCall: ToolCall; created: boolean }> {
  const { sessionId, toolCallId = engine.options.newId(), ...call } = input
  const reported = optional({ toolCallId, ...call })
  const ran = await engine.run(
    sessionId,
    { type: 'report', events: [{ type: 'tool_call', ...reported }] },
    key,
    fence,
  )
  const event = ran.events.find((each) => each.type === 'tool_call')
  const id = event?.toolCallId ?? toolCallId
  const known = await engine.read(sessionId, (state) => state.toolCalls.get(id))
  // One that has left the window is known by its id only.
  const toolCall = known ?? { ...reported, toolCallId: id, at: event?.at ?? engine.options.clock.now() }
  return { toolCall, created: event !== undefined && !ran.repeated }
}
