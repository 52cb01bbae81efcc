import type { Json, SessionStateJson } from '@askback/protocol'

/** A message of AG-UI. */
export type AguiMessage =
  | { id: string; role: 'user' | 'assistant' | 'reasoning'; content: string }
  | { id: string; role: 'assistant'; toolCalls: object[] }
  | { id: string; role: 'tool'; toolCallId: string; content: string }

/** The messages of the window of a session. Each has the id that the events of a run give it. */
export function messagesOf({ turns, toolCalls }: SessionStateJson): AguiMessage[] {
  const calls = new Map(toolCalls.map((call) => [call.toolCallId, call]))
  return turns.flatMap(({ items }) =>
    items.flatMap((item): AguiMessage[] => {
      switch (item.type) {
        case 'user_message':
          return [{ id: item.id, role: 'user', content: item.text }]
        case 'text':
          return [{ id: item.id, role: 'assistant', content: item.text }]
        case 'thinking':
          return [{ id: item.id, role: 'reasoning', content: item.text }]
        case 'tool_call': {
          const call = calls.get(item.toolCallId)
          if (!call) return []
          const { toolCallId, toolName, input, result } = call
          const named = { name: toolName, arguments: JSON.stringify(input) }
          const toolCall = { id: toolCallId, type: 'function', function: named }
          const made: AguiMessage = { id: toolCallId, role: 'assistant', toolCalls: [toolCall] }
          if (!result) return [made]
          const content = resultText(result.output)
          return [made, { id: resultId(toolCallId), role: 'tool', toolCallId, content }]
        }
        default:
          return []
      }
    }),
  )
}

/** Whether the log has this message of a person: the client has got it from here. */
export function hasUserMessage({ turns }: SessionStateJson, id: string): boolean {
  return turns.some(({ items }) => items.some((item) => item.type === 'user_message' && item.id === id))
}

export function resultId(toolCallId: string): string {
  return `${toolCallId}.result`
}

export function resultText(output: Json): string {
  return typeof output === 'string' ? output : JSON.stringify(output)
}
