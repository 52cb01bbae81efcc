import {
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { AskbackError, isRecord, objectOf, type Interaction, type StandardSchema } from '@askback/protocol'
import { FORM_KEY, formFor, takeFormAnswer } from './question-form.js'
import type { RequestPort } from './request-port.js'
import { toolResult } from './results.js'
import { toolForKind } from './tools.js'

// The extension Tasks of MCP. A task is an interaction under its own id, so nothing is stored here: it outlives this server, the
// gateway and the client. The ids are unguessable, and each request checks what the client may read.

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

/** Whether the client takes a task as the result of this request. Clients say so in each request. */
export function offersTasks({ mcpReq: { envelope } }: ServerContext): boolean {
  const capabilities = objectOf(objectOf(envelope)[CLIENT_CAPABILITIES_META_KEY])
  return isRecord(objectOf(capabilities['extensions'])[TASKS_EXTENSION])
}

/** The result of a call whose request waits for a person. The library adds `content` to every result of a call. */
export function createdTask(item: Interaction, pollMs: number): CallToolResult {
  return { content: [], resultType: 'task', ...workingTask(item.interactionId, item, pollMs) }
}

/** Handles `tasks/get`, `tasks/update` and `tasks/cancel`. */
export function serveTasks(
  { server }: McpServer,
  { requests, pollMs }: { requests: RequestPort; pollMs: number },
): void {
  server.setRequestHandler('tasks/get', { params: taskParams }, async ({ taskId }, context) => {
    const wait = { ms: 0, signal: context.mcpReq.signal, isCancelledBySignal: false }
    const item = await requests.wait(await findTask(requests, taskId), wait)
    const task = detailedTask(taskId, item, pollMs)
    const form = formFor(requests, item, context)
    if (!form) return task
    return { ...task, status: 'input_required', inputRequests: { [FORM_KEY]: inputRequired.elicit(form) } }
  })
  // Responses that nobody asked for are ignored.
  server.setRequestHandler('tasks/update', { params: taskParams }, async ({ taskId }, { mcpReq }) => {
    // The library removes them from the parameters.
    await takeFormAnswer(requests, await findTask(requests, taskId), mcpReq.inputResponses)
    return {}
  })
  server.setRequestHandler('tasks/cancel', { params: taskParams }, async ({ taskId }) => {
    await requests.cancel(await findTask(requests, taskId))
    return {}
  })
}

function detailedTask(taskId: string, item: Interaction, pollMs: number) {
  const task = workingTask(taskId, item, pollMs)
  if (item.status === 'pending') return task
  const text = toolForKind(item.kind)!.describeSettlement(item, {})
  if (item.settlement === 'cancelled') return { ...task, status: 'cancelled', statusMessage: text }
  const { statusMessage: _, ...rest } = task
  return { ...rest, status: 'completed', result: { resultType: 'complete', ...toolResult(text, item) } }
}

function workingTask(taskId: string, { requestedAt, settledAt }: Interaction, pollMs: number) {
  return {
    taskId,
    status: 'working',
    statusMessage: 'Waiting for a person to answer',
    createdAt: new Date(requestedAt).toISOString(),
    lastUpdatedAt: new Date(settledAt ?? requestedAt).toISOString(),
    // It is stored as long as its session.
    ttlMs: null,
    pollIntervalMs: pollMs,
  }
}

async function findTask(requests: RequestPort, taskId: string): Promise<Interaction> {
  try {
    const item = await requests.find(taskId)
    if (toolForKind(item.kind)) return item
  } catch (error) {
    const isUnknown =
      error instanceof AskbackError && ['not_found', 'forbidden', 'invalid_request'].includes(error.code)
    if (!isUnknown) throw error
  }
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no task ${taskId}.`)
}

/** A Standard Schema by hand, because this package has no library for schemas. */
const taskParams: StandardSchema<{ taskId: string }> = {
  '~standard': {
    version: 1,
    vendor: 'askback',
    validate(value: unknown) {
      const { taskId } = objectOf(value)
      return typeof taskId === 'string'
        ? { value: { taskId } }
        : { issues: [{ message: 'taskId is a text' }] }
    },
  },
}
