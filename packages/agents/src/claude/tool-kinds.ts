import type { InteractionKind, SessionHandle } from '@askback/core'
import { copyJson, isRecord, type Json } from '@askback/protocol'
import type { CallRequest } from '../session/call-request.js'
import { refusalMessage } from '../session/model-messages.js'
import type { ClaudeCall } from './hooks.js'
import type { HookMatcher, PermissionResult } from './sdk.js'

/** A tool of the agent, and the kind with which a person is asked before it runs. */
export interface MappedTool {
  kind: InteractionKind
  /**
   * The request for a call with this input.
   * @default the input
   */
  request?: (input: Record<string, unknown>) => unknown
  /**
   * The input that the tool runs with.
   * @default the input with the fields of the answer, or with `answer` if the answer is no object
   */
  updatedInput?: (input: Record<string, unknown>, answer: Json) => Record<string, unknown>
}

/**
 * Tools that ask with a kind instead of an approval, by their names. A tool of an MCP server has its own name or the one that Claude Code
 * gives it, `mcp__server__name`.
 *
 * @example
 * claudeAgent({ env, tools: { DeployWindow: timeSlot } })
 */
export type ToolKinds = Readonly<Record<string, InteractionKind | MappedTool>>

/** The mapping of a tool; `null` if it has none. The full name of a tool of an MCP server has priority. */
export function mappedTool(tools: ToolKinds, toolName: string): MappedTool | null {
  const [, ownName = toolName] = /^mcp__.+?__(.+)$/.exec(toolName) ?? []
  for (const name of [toolName, ownName]) {
    const found = Object.hasOwn(tools, name) ? tools[name] : undefined
    if (found) return isMapping(found) ? found : { kind: found }
  }
  return null
}

/** Asks the person, and lets the tool run with what they answered. */
export async function askKind(
  session: SessionHandle,
  call: ClaudeCall,
  { kind, request: requestOf = (input) => input, updatedInput = merged }: MappedTool,
  callRequest: CallRequest,
): Promise<PermissionResult> {
  const request = copyJson(requestOf(call.input), 'input')
  const settled = await session.request(kind, request, callRequest.options)
  await callRequest.afterSettlement(settled)
  if (settled.settlement !== 'answered' && settled.settlement !== 'approved')
    return { behavior: 'deny', message: refusalMessage(settled, `the ${kind.kind.replaceAll('_', ' ')}`) }
  return { behavior: 'allow', updatedInput: updatedInput(call.input, copyJson(settled.answer, 'answer')) }
}

/** Makes Claude Code ask about these tools whatever its mode and its rules say: none of them can answer for a person. */
export function askedToolsMatcher(tools: ToolKinds): HookMatcher {
  return {
    hooks: [
      async ({ tool_name: name = '' }) =>
        mappedTool(tools, name)
          ? { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'ask' } }
          : {},
    ],
  }
}

function isMapping(given: InteractionKind | MappedTool): given is MappedTool {
  return typeof given.kind !== 'string'
}

function merged(input: Record<string, unknown>, answer: Json): Record<string, unknown> {
  return { ...input, ...(isRecord(answer) ? answer : { answer }) }
}
