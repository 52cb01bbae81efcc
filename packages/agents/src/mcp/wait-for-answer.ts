import type { CallToolResult } from '@modelcontextprotocol/server'
import type { Interaction } from '@askback/protocol'
import { textResult, toolResult } from './results.js'
import { READ_ONLY_HINTS } from './tools.js'

/** Continues to wait for a request whose call ended before a person answered. */
export const waitForAnswerTool = {
  name: 'wait_for_answer',
  title: 'Wait for an answer',
  description:
    'Goes on waiting for a request that is still pending, and returns what the user said. Call it when a result says that it is still waiting, with the id in that result, instead of asking again. Without an id it lists the requests of this session that wait, or whose answer you have not seen.',
  inputSchema: {
    type: 'object' as const,
    properties: { id: { type: 'string', description: 'The id in the result that said “still waiting”.' } },
    required: [],
  },
  annotations: READ_ONLY_HINTS,
}

/** The result of a call that ends before its request is settled. */
export function stillWaiting(item: Interaction): CallToolResult {
  const text =
    `Still waiting: nobody has answered yet, and that is not an answer. Call ${waitForAnswerTool.name} with id ` +
    `${JSON.stringify(item.interactionId)} to go on waiting. Do not ask again, and do not assume an answer.`
  return toolResult(text, item)
}

/** What a client finds that has lost the ids of its requests, for example because it was restarted. */
export function listUnfinished(items: Interaction[]): CallToolResult {
  if (items.length === 0)
    return textResult('No request of this session waits for an answer, and every answer has been returned.')
  const lines = items.map(
    ({ interactionId, kind, toolName, status, request }) =>
      `- ${interactionId}: ${kind} (${toolName}), ${status === 'pending' ? 'nobody has answered yet' : 'answered'}. It asked: ${summary(request)}`,
  )
  return textResult(
    `Requests of this session; call ${waitForAnswerTool.name} with an id to get its answer:\n${lines.join('\n')}`,
  )
}

const MAX_SUMMARY_LENGTH = 200

function summary(request: Interaction['request']): string {
  const text = JSON.stringify(request)
  return text.length <= MAX_SUMMARY_LENGTH ? text : `${text.slice(0, MAX_SUMMARY_LENGTH)}…`
}
