/**
 * Parking ends a Claude Code process that waits long for a person, because each one holds hundreds of megabytes.
 *
 * A hook asks the person before Claude Code does. If no answer comes in time, the hook defers the call: Claude Code writes it
 * to its transcript and ends. The answer starts Claude Code again, which then asks about the same call once more and finds
 * the answer.
 */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '@askback/core'
import { isRecord } from '@askback/protocol'
import { pause } from '../session/call-request.js'
import type { ClaudeCall } from './hooks.js'
import type { HookMatcher, PreToolUseHook, PreToolUseInput } from './sdk.js'

/**
 * Hooks run before Claude Code decides whether to ask. These tools always ask a person, so asking in the hook asks nothing
 * that Claude Code would not.
 */
const PARKED_TOOLS = 'AskUserQuestion|ExitPlanMode'

const DEFER = { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'defer' } } as const

/** The hook itself limits its time, so Claude Code's own limit only has to be longer. */
const EXTRA_TIMEOUT_SECONDS = 3600

export interface ParkingOptions {
  afterMs: number
  clock: Clock
  /** Asks the person, and resolves with the settlement. An abort stops the waiting; the request stays pending. */
  ask: (call: ClaudeCall) => Promise<unknown>
  /**
   * Whether nothing but this call keeps the process busy. Claude Code remembers only the last deferred call, and loses what
   * runs beside it.
   */
  canPark: (toolCallId: string) => boolean
}

export function parkingMatcher(options: ParkingOptions): HookMatcher {
  const timeout = Math.ceil(options.afterMs / 1000) + EXTRA_TIMEOUT_SECONDS
  return { matcher: PARKED_TOOLS, timeout, hooks: [parkingHook(options)] }
}

export function parkingHook({ afterMs, clock, ask, canPark }: ParkingOptions): PreToolUseHook {
  return async (input, _toolUseId, { signal }) => {
    const call = callIn(input, signal)
    if (!call) return {}
    const stopWaiting = new AbortController()
    const waited = ask({ ...call, signal: AbortSignal.any([signal, stopWaiting.signal]) }).then(
      () => 'settled' as const,
      () => 'stopped' as const,
    )
    const done = new AbortController()
    const timeout = pause(clock, afterMs, AbortSignal.any([signal, done.signal]))
    const first = await Promise.race([waited, timeout.then(() => 'late' as const)])
    done.abort()
    // Without a decision of the hook Claude Code asks in its usual way.
    if (first !== 'late' || signal.aborted || !canPark(call.toolUseID)) return {}
    stopWaiting.abort()
    // The answer may have come in the same moment.
    return (await waited) === 'settled' ? {} : DEFER
  }
}

/**
 * Whether Claude Code has deferred this call and will ask about it again. Only its transcript of the conversation says so.
 */
export async function isDeferred(
  configFolder: string | null,
  agentSessionId: string | null,
  toolCallId: string,
): Promise<boolean> {
  if (configFolder === null || agentSessionId === null) return false
  const lines = await transcriptLines(join(configFolder, 'projects'), `${agentSessionId}.jsonl`)
  const ofCall = lines.filter((line) => line.includes(toolCallId))
  const deferred = ofCall.findLastIndex((line) => line.includes('"hook_deferred_tool"'))
  return deferred >= 0 && !ofCall.slice(deferred).some((line) => line.includes('"tool_result"'))
}

async function transcriptLines(projects: string, name: string): Promise<string[]> {
  for (const folder of await readdir(projects).catch(() => [])) {
    const text = await readFile(join(projects, folder, name), 'utf8').catch(() => null)
    if (text !== null) return text.split('\n')
  }
  return []
}

function callIn(input: PreToolUseInput, signal: AbortSignal): ClaudeCall | null {
  const { tool_name: toolName, tool_use_id: toolUseID, tool_input, agent_id: agentID } = input
  // A subagent's conversation ends with the process, so its call could not be continued.
  if (agentID !== undefined || toolName === undefined || toolUseID === undefined) return null
  return isRecord(tool_input) ? { toolName, toolUseID, input: tool_input, signal } : null
}
