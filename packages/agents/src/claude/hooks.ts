import { systemClock, type AskOptions, type Clock, type SessionHandle } from '@askback/core'
import { AskbackError, copyJson } from '@askback/protocol'
import { approve } from './approval.js'
import { asking, type Asking } from '../session/asking.js'
import { editScopeOf } from '../session/edit-target.js'
import { elicit } from '../session/elicitation.js'
import type { Grants } from '../session/grants.js'
import { memoryEdits } from './memory-edits.js'
import { PARKED_TOOLS, parkingHook, type ParkingOptions } from './parking.js'
import { PlanMissing, planOf, reviewPlan, type ApprovedPlan } from './plan-review.js'
import { answeredInput, questionRequest } from './question.js'
import { refusalOf, type Refused } from '../session/refusal.js'
import type { CanUseTool, HookMatcher, OnElicitation, PermissionResult, ToolUse } from './sdk.js'

export interface ClaudeHooks {
  canUseTool: CanUseTool
  onElicitation: OnElicitation
  hooks?: { PreToolUse: HookMatcher[] }
}

export interface ClaudeHooksOptions {
  /** The agent's folder: edits inside it are what the mode `acceptEdits` allows. */
  cwd?: string | null
  /** Where the agent keeps its plan files: `~/.claude/plans` unless its configuration lies elsewhere. */
  plansFolder?: string | null
  timeoutMs?: number | null
  /** Stops waiting; what is pending stays so. */
  signal?: AbortSignal
  clock?: Clock
}

/** What an observer of the agent's messages adds to the callbacks. */
export interface ObserverPorts {
  /** Resolves when the tool call stands in the log. */
  announce(call: Call): Promise<void>
  /** Answers the call of an approved plan; `null` lets the agent carry it out in the context that it has. */
  planApproved(approved: ApprovedPlan, call: Call): Promise<PermissionResult | null>
  planMissing(error: PlanMissing): Promise<void>
  /** Set by the adapter that runs the agent itself. */
  adapter?: AdapterPorts
}

interface AdapterPorts {
  grants: Grants
  /** Below which the agent keeps its memory: edits there ask a person. */
  memoryFolder: string | null
  /** Ends a process that waits longer than this. */
  parking: Pick<ParkingOptions, 'afterMs' | 'isSole'> | null
}

export interface Call extends ToolUse {
  toolName: string
  input: Record<string, unknown>
}

/**
 * Only the callbacks for a `query()`: whatever the agent asks goes to the session's person. `connectClaude` also reports
 * what the agent does.
 */
export function createClaudeHooks(
  session: SessionHandle,
  options: ClaudeHooksOptions = {},
  ports?: ObserverPorts,
): ClaudeHooks {
  const { cwd = null, plansFolder = null, timeoutMs, clock = systemClock } = options
  const adapter = ports?.adapter
  const editScope = editScopeOf(session, { cwd, plans: plansFolder })
  /** The last call to each MCP server: what that server asks belongs to it. */
  const lastCalls = new Map<string, Call>()
  const announce = (call: Call) => (ports ? ports.announce(call) : report(session, call))

  async function decide(call: Call): Promise<PermissionResult> {
    const server = /^mcp__(.+?)__/.exec(call.toolName)?.[1]
    if (server !== undefined) lastCalls.set(server, call)
    await announce(call)
    const ask = asking(askOptions(call, call.signal), clock)
    switch (call.toolName) {
      case 'AskUserQuestion':
        return question(session, call, ask)
      case 'ExitPlanMode':
        return reviewPlan(session, call.input, ask, async (plan) => ports?.planApproved(plan, call) ?? null)
      default:
        return approve(session, call, ask, { editScope, grants: adapter?.grants ?? null })
    }
  }

  /** Only asks: the call itself comes later, and finds what has been asked. */
  async function askAhead(call: Call): Promise<void> {
    await announce(call)
    const ask = asking(askOptions(call, call.signal), clock)
    const isPlan = call.toolName === 'ExitPlanMode'
    const settled = isPlan
      ? await session.reviewPlan({ ...(await planOf(call.input)), ...ask.options })
      : await session.ask({ ...questionRequest(call.input), ...ask.options })
    await ask.settled(settled)
  }

  /**
   * The agent aborts a call that it does not wait for any more. An adapter ends and restarts its agent, and cancels what is
   * pending by itself; in a query of one's own nobody else would.
   */
  function askOptions(call: Call | undefined, aborted: AbortSignal): AskOptions & { signal: AbortSignal } {
    return {
      ...(adapter ? { signal: signalOf(aborted) } : { signal: options.signal ?? never, cancelOn: aborted }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(call && { toolCallId: call.toolUseID, toolName: call.toolName, attach: true }),
      ...(call?.agentID !== undefined && { agentId: call.agentID }),
    }
  }

  function signalOf(signal: AbortSignal): AbortSignal {
    return options.signal ? AbortSignal.any([signal, options.signal]) : signal
  }

  return {
    async canUseTool(toolName, input, use) {
      try {
        return await decide({ toolName, input, ...use })
      } catch (error) {
        // Its process is being ended: any answer would make it talk to its model once more.
        if (adapter && options.signal?.aborted) return new Promise(() => {})
        if (error instanceof PlanMissing) await ports?.planMissing(error)
        return { behavior: 'deny', message: failure(error, signalOf(use.signal)) }
      }
    },
    async onElicitation(request, { signal }) {
      const call = lastCalls.get(request.serverName)
      // A call may ask more than once: each time is a request of its own.
      const own = { ...askOptions(call, signal), attach: false }
      try {
        return await elicit(session, request, own)
      } catch (error) {
        // A form that may not be asked, such as one for a secret, is declined; the server can offer a page instead.
        if (error instanceof AskbackError && error.code === 'invalid_request') return { action: 'decline' }
        return { action: 'cancel' }
      }
    },
    ...(adapter && {
      hooks: {
        PreToolUse: [
          ...(adapter.memoryFolder === null ? [] : [memoryEdits(adapter.memoryFolder)]),
          ...(adapter.parking ? [parkingMatcher({ ...adapter.parking, clock, ask: askAhead })] : []),
        ],
      },
    }),
  }
}

const never = new AbortController().signal

/** No timeout of the program's own: the hook keeps its time itself. */
function parkingMatcher(options: ParkingOptions): HookMatcher {
  const timeout = Math.ceil(options.afterMs / 1000) + 3600
  return { matcher: PARKED_TOOLS, timeout, hooks: [parkingHook(options)] }
}

async function question(session: SessionHandle, call: Call, ask: Asking): Promise<PermissionResult> {
  const settled = await session.ask({ ...questionRequest(call.input), ...ask.options })
  await ask.settled(settled)
  if (settled.settlement === 'answered')
    return { behavior: 'allow', updatedInput: answeredInput(call.input, settled.answer) }
  return { behavior: 'deny', message: refusalOf(settled as Refused, 'the question') }
}

async function report(session: SessionHandle, { toolUseID, toolName, input }: Call): Promise<void> {
  const call = { toolCallId: toolUseID, toolName, input: copyJson(input, 'input') }
  await session.report({ type: 'tool_call', ...call, source: 'agent' })
}

function failure(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'The session was stopped before anybody answered.'
  const why = error instanceof Error ? error.message : String(error)
  return `The user could not be asked: ${why}`
}
