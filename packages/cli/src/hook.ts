import { decisionForToolUse, requestForToolUse, type ClaudeToolUse } from '@askback/agents/claude-code'
import { AskbackError, errorMessage } from '@askback/protocol/errors'
import { isRecord } from '@askback/protocol/guards'
import type { Json, SessionEvent } from '@askback/protocol'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { abortOnSignals, askPerson } from './asking/ask-person.js'
import { sessionFor } from './asking/session.js'
import { ADDRESS_FLAGS, type GatewayAddress } from './reach/connection.js'
import { GatewayClient } from './reach/gateway-client.js'
import { printJson, say } from './terminal.js'

export const HOOK_FLAGS = ADDRESS_FLAGS

/** What Claude Code writes to the stdin of a hook. */
interface HookInput {
  hook_event_name: string
  session_id: string
  cwd: string
  tool_name: string
  tool_input: Record<string, Json>
  tool_use_id?: string
  tool_response?: Json
  error?: string
}

const REQUIRED_INPUT = ['hook_event_name', 'session_id', 'cwd', 'tool_name', 'tool_input'] as const

/** If the gateway does not answer, a hook delays its tool by at most this long. */
const REPORT_TIMEOUT_MS = 2000
/** How many of the last events are searched for the call that asks for permission. */
const SEARCHED_EVENTS = 50

/** With this exit code Claude Code continues as if there were no hook. With 2 it would block the tool. */
const EXIT_CONTINUE = 1

/**
 * `askback hook claude-code`: Claude Code runs this before and after each tool call, and when it asks for permission. If no gateway
 * runs, the hook prints nothing, so that Claude Code's own prompt decides.
 */
export async function hook(args: string[]): Promise<number> {
  const { env } = process
  // The gateway started this Claude Code itself, and asks without hooks.
  if (env['ASKBACK_SESSION']) return 0
  try {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: HOOK_FLAGS })
    if (positionals.join(' ') !== 'claude-code') throw new Error('Usage: askback hook claude-code.')
    const output = await handleHook(readInput(), values, env)
    if (output) printJson(output)
    return 0
  } catch (error) {
    if (error instanceof AskbackError && error.code === 'unavailable') return 0
    say(`Askback: ${errorMessage(error)}`)
    return EXIT_CONTINUE
  }
}

function readInput(): HookInput {
  try {
    const input: unknown = JSON.parse(readFileSync(0, 'utf8'))
    if (isHookInput(input)) return input
  } catch {
    // Falls through to the error below.
  }
  throw new Error('This is run by Claude Code, which says on stdin what it is about to do.')
}

/** Checks what every hook needs. Claude Code adds the other fields for some events. */
function isHookInput(value: unknown): value is HookInput {
  return isRecord(value) && REQUIRED_INPUT.every((name) => value[name])
}

/** Resolves to what the hook prints; `null` if it decides nothing. */
async function handleHook(
  input: HookInput,
  address: GatewayAddress,
  env: NodeJS.ProcessEnv,
): Promise<object | null> {
  const gateway = new GatewayClient('agent', address, {
    env,
    stallMs: REPORT_TIMEOUT_MS,
    restartMs: REPORT_TIMEOUT_MS,
  })
  const sessionId = await sessionFor(
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

async function reportCall(gateway: GatewayClient, path: string, input: HookInput): Promise<void> {
  const { tool_use_id: toolCallId, tool_name: toolName, tool_input: given } = input
  await gateway.json({
    method: 'POST',
    path: `${path}/tool-calls`,
    body: { toolName, input: given, ...(toolCallId && { toolCallId }) },
    headers: { 'askback-source': 'hook' },
  })
}

async function reportResult(gateway: GatewayClient, path: string, input: HookInput): Promise<void> {
  const { tool_use_id: id, tool_response: response = null, error } = input
  if (!id) return
  await gateway.json({
    method: 'POST',
    path: `${path}/tool-calls/${encodeURIComponent(id)}/result`,
    body: error === undefined ? { output: outputOf(response) } : { output: error, isError: true },
  })
}

/** Claude Code shows its own prompt at the same time, and the first answer counts. So this decides only if a person did. */
async function askPermission(
  gateway: GatewayClient,
  sessionId: string,
  { tool_name: toolName, tool_input: input }: HookInput,
  env: NodeJS.ProcessEnv,
): Promise<object | null> {
  const use: ClaudeToolUse = { toolName, input }
  const toolCallId = await findAskingCall(gateway, sessionId, use)
  const interaction = await askPerson(
    { ...requestForToolUse(use), toolCallId },
    { gateway, session: { sessionId }, env, source: 'hook', signal: abortOnSignals() },
  )
  const decision = decisionForToolUse(use, interaction)
  return decision && { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } }
}

/** The event does not name its call: it is the last call without a result that has the same tool and input. */
async function findAskingCall(
  gateway: GatewayClient,
  sessionId: string,
  use: ClaudeToolUse,
): Promise<string> {
  const { events } = await gateway.json<{ events: SessionEvent[] }>({
    method: 'GET',
    path: `/api/sessions/${sessionId}/events?before=${Number.MAX_SAFE_INTEGER}&limit=${SEARCHED_EVENTS}`,
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

/** For a shell command what it printed, else the whole response. */
function outputOf(response: Json): Json {
  if (typeof response !== 'object' || response === null || Array.isArray(response)) return response
  const { stdout, stderr } = response
  if (typeof stdout !== 'string') return response
  return typeof stderr === 'string' && stderr !== '' ? `${stdout}\n${stderr}` : stdout
}
