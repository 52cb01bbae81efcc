/**
 * The record of a session for an agent that has lost its own: an agent may forget a conversation when it is killed, when its
 * version changes or when another machine continues. The log still has it, so the agent gets it as text before its next message.
 */
import type { AgentContext } from '@askback/core'
import { hasAnswer, type Interaction, type SessionStateJson, type TurnItem } from '@askback/protocol'
import { answerMessage } from './model-messages.js'

/** Limit of the record, in characters. The end of the conversation matters more than its beginning. */
const MAX_RECORD_LENGTH = 24_000
/** Limit of one tool's input or output in it. */
const MAX_CALL_LENGTH = 1000

const INTRODUCTION =
  'Your earlier conversation with the user was lost. This is its record. What it says has happened already: do not do it again.'

/** The message, behind the record of the session. Without one, the message alone. */
export async function withConversationRecord(
  session: AgentContext['session'],
  message: string,
): Promise<string> {
  const { state } = await session.snapshot()
  const record = conversationRecord(state, message)
  return record === null ? message : `${INTRODUCTION}\n\n<record>\n${record}\n</record>\n\n${message}`
}

/** The conversation since its context was last cleared, without `nextMessage` at its end; `null` if there is nothing. */
export function conversationRecord(state: SessionStateJson, nextMessage?: string): string | null {
  const items = state.turns.flatMap((turn) => turn.items)
  const cleared = items.findLastIndex(({ type }) => type === 'context_cleared')
  const rest = items.slice(cleared + 1)
  const last = rest.findLastIndex(({ type }) => type === 'user_message')
  const lastItem = rest[last]
  if (lastItem?.type === 'user_message' && lastItem.text === nextMessage) rest.splice(last, 1)
  const lines = rest.flatMap((item) => lineOf(item, state))
  if (lines.length === 0) return null
  const record = lines.join('\n\n')
  return record.length <= MAX_RECORD_LENGTH ? record : `[…]\n${record.slice(-MAX_RECORD_LENGTH)}`
}

function lineOf(item: TurnItem, state: SessionStateJson): string[] {
  switch (item.type) {
    case 'user_message':
      return [`User: ${item.text}`]
    case 'text':
      return [`You: ${item.text}`]
    case 'tool_call': {
      const call = state.toolCalls.find(({ toolCallId }) => toolCallId === item.toolCallId)
      if (!call) return []
      const made = `You called ${call.toolName} ${shorten(JSON.stringify(call.input))}`
      if (!call.result) return [`${made} (no result is known)`]
      const { isError, output } = call.result
      const text = typeof output === 'string' ? output : JSON.stringify(output)
      return [`${made}\n${isError ? 'Error' : 'Result'}: ${shorten(text)}`]
    }
    case 'interaction': {
      const asked = [...state.interactions, ...state.pending].find(
        ({ interactionId }) => interactionId === item.interactionId,
      )
      return asked ? settlementOf(asked) : []
    }
    case 'thinking':
    case 'error':
    case 'context_cleared':
      return []
  }
}

/** An approval is part of its call, whose result says what came of it. */
function settlementOf(asked: Interaction): string[] {
  if (asked.kind === 'approval' || asked.settlement === undefined) return []
  if (asked.settlement === 'answered' && hasAnswer(asked, 'question'))
    return [`The user answered:\n${answerMessage(asked.request, asked.answer)}`]
  const said = asked.answer === undefined ? (asked.message ?? '') : JSON.stringify(asked.answer)
  return [`You asked the user (${asked.kind}): ${asked.settlement}${said === '' ? '' : `, ${shorten(said)}`}`]
}

function shorten(text: string): string {
  return text.length <= MAX_CALL_LENGTH ? text : `${text.slice(0, MAX_CALL_LENGTH)}[…]`
}
