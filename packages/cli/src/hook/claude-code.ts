import { decisionOf, requestOf, type ToolUse } from '@askback/agents/claude-code'
import { AskbackError } from '@askback/protocol/errors'
import type { Json, SessionEvent } from '@askback/protocol'
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { askPerson } from '../asking/ask-person.js'
import { outsideSession } from '../asking/session.js'
import { abortOnSignals } from '../asking/signals.js'
import type { Where } from '../reach/connection.js'
import { Gateway } from '../reach/gateway.js'

/** What Claude Code tells a hook. */
export interface HookInput {
  hook_event_name: string
  session_id: string
  cwd: string
  tool_name: string
  tool_input: Record<string, Json>
  tool_use_id?: string
  tool_response?: Json
  error?: string
}

/** So long it holds a tool up at most, if the gateway does not answer. */
const REPORT_MS = 2000
/** The call that asks is one of the last events. */
const LAST_EVENTS = 50

/** Resolves to what the hook says on stdout; `null` if it has no say in it. */
export async function claudeCodeHook(
  input: HookInput,
  where: Where,
  env: NodeJS.ProcessEnv,
): Promise<object | null> {
  const gateway = new Gateway('agent', where, { env, stallMs: REPORT_MS, patienceMs: REPORT_MS })
  const sessionId = await outsideSession(
    gateway,
    `claude-code ${input.session_id}`,
    env['CLAUDE_PROJECT_DIR'] || input.cwd,
  )
  const path = `/api/sessions/${sessionId}`
  switch (input.hook_event_name) {
    case 'PreToolUse':
      await reportCall(gateway, path, input)
      return null
    case 'PostToolUse':
    case 'PostToolUseFailure':
      await reportResult(gateway, path, input)
      return null
    case 'PermissionRequest':
      return askPermission(gateway, sessionId, input, env)
    default:
      return null
  }
}

async function reportCall(gateway: Gateway, path: string, input: HookInput): Promise<void> {
  const { tool_use_id: toolCallId, tool_name: toolName, tool_input: given } = input
  await gateway.json({
    method: 'POST',
    path: `${path}/tool-calls`,
    body: { toolName, input: given, ...(toolCallId && { toolCallId }) },
    headers: { 'askback-source': 'hook' },
  })
}

async function reportResult(gateway: Gateway, path: string, input: HookInput): Promise<void> {
  const { tool_use_id: id, tool_response: response = null, error } = input
  if (!id) return
  await gateway.json({
    method: 'POST',
    path: `${path}/tool-calls/${encodeURIComponent(id)}/result`,
    body: error === undefined ? { output: textOf(response) } : { output: error, isError: true },
  })
}

/** Its own prompt stands at the same time: whoever answers first decides, and so nothing is said unless a person did. */
async function askPermission(
  gateway: Gateway,
  sessionId: string,
  { tool_name: toolName, tool_input: input }: HookInput,
  env: NodeJS.ProcessEnv,
): Promise<object | null> {
  const use: ToolUse = { toolName, input }
  const toolCallId = await callThatAsks(gateway, sessionId, use)
  const item = await askPerson(
    { ...requestOf(use), toolCallId },
    { gateway, place: { sessionId }, env, source: 'hook', signal: abortOnSignals() },
  )
  const decision = decisionOf(use, item)
  return decision && { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } }
}

/** This event does not name its call: it is the last one without a result that is the same. */
async function callThatAsks(gateway: Gateway, sessionId: string, use: ToolUse): Promise<string> {
  const { events } = await gateway.json<{ events: SessionEvent[] }>({
    method: 'GET',
    path: `/api/sessions/${sessionId}/events?before=${Number.MAX_SAFE_INTEGER}&limit=${LAST_EVENTS}`,
    headers: { accept: 'application/json' },
  })
  const ended = new Set(events.map((event) => (event.type === 'tool_result' ? event.toolCallId : null)))
  const call = events.findLast(
    (event) =>
      event.type === 'tool_call' &&
      event.toolName === use.toolName &&
      !ended.has(event.toolCallId) &&
      isDeepStrictEqual(event.input, use.input),
  )
  return call?.type === 'tool_call' ? call.toolCallId : `hook_${randomUUID()}`
}

/** Of a command, what it printed; of anything else, all there is. */
function textOf(response: Json): Json {
  if (typeof response !== 'object' || response === null || Array.isArray(response)) return response
  const { stdout, stderr } = response
  if (typeof stdout !== 'string') return response
  return typeof stderr === 'string' && stderr !== '' ? `${stdout}\n${stderr}` : stdout
}

/** Whether it says no more than that nobody is there to ask. */
export function isDown(error: unknown): boolean {
  return error instanceof AskbackError && error.code === 'unavailable'
}
