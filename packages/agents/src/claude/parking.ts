import type { Clock } from '@askback/core'
import { pause } from '../session/asking.js'
import type { Call } from './hooks.js'
import type { PreToolUseHook, PreToolUseInput } from './sdk.js'

/** They always ask a person, so it is safe to ask before the agent's program has looked at them. */
export const PARKED_TOOLS = 'AskUserQuestion|ExitPlanMode'

const defer = { hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'defer' } } as const

export interface ParkingOptions {
  afterMs: number
  clock: Clock
  /** Asks the person, and resolves when that is settled; aborting stops the wait, not the request. */
  ask: (call: Call) => Promise<unknown>
  /** Of several calls that are put off only the last would be remembered, and what runs beside it would be lost. */
  isSole: (toolCallId: string) => boolean
}

/**
 * Asks, waits a while, and then lets the agent's program end: it holds hundreds of megabytes, and takes up the same call
 * when it is started again.
 */
export function parkingHook({ afterMs, clock, ask, isSole }: ParkingOptions): PreToolUseHook {
  return async (input, _toolUseId, { signal }) => {
    const call = callOf(input, signal)
    if (!call) return {}
    const late = new AbortController()
    const waited = ask({ ...call, signal: AbortSignal.any([signal, late.signal]) }).then(
      () => 'settled' as const,
      () => 'stopped' as const,
    )
    const over = new AbortController()
    const timer = pause(clock, afterMs, AbortSignal.any([signal, over.signal]))
    const first = await Promise.race([waited, timer.then(() => 'late' as const)])
    over.abort()
    // Somebody else's call is open too, or it is settled or interrupted: the usual way.
    if (first !== 'late' || signal.aborted || !isSole(call.toolUseID)) return {}
    late.abort()
    return (await waited) === 'settled' ? {} : defer
  }
}

function callOf(input: PreToolUseInput, signal: AbortSignal): Call | null {
  const { tool_name: toolName, tool_use_id: toolUseID, tool_input, agent_id: agentID } = input
  // A subagent's call cannot be taken up: its conversation ends with the program.
  if (agentID !== undefined || toolName === undefined || toolUseID === undefined) return null
  if (typeof tool_input !== 'object' || tool_input === null) return null
  return { toolName, toolUseID, input: tool_input as Record<string, unknown>, signal }
}
