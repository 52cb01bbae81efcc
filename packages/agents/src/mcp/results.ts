import type { CallToolResult } from '@modelcontextprotocol/server'
import type { Interaction } from '@askback/protocol'

/** The interaction is in `_meta`, not in `structuredContent`: clients would show that to the model in place of the text. */
export function toolResult(text: string, item: Interaction): CallToolResult {
  const { status, settlement, answer, message, interactionId, delivered } = item
  const interaction = {
    interactionId,
    ...(status === 'pending' && { status }),
    ...(settlement !== undefined && { settlement }),
    ...(delivered && { delivered }),
    ...(answer !== undefined && { answer }),
    ...(message !== undefined && { message }),
  }
  return { content: [{ type: 'text', text }], _meta: { 'askback/interaction': interaction } }
}

export function textResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] }
}

export function errorResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}
