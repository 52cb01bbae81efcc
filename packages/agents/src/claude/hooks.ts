import { isAbsolute, relative, resolve } from 'node:path'
import {
  jumpAwareClock,
  type AskOptions,
  type Clock,
  type EditScope,
  type SessionHandle,
} from '@askback/core'
import { copyJson, errorMessage, type Json } from '@askback/protocol'
import { approveCall, type Grants } from '../session/approval.js'
import { callRequest, type CallRequest } from '../session/call-request.js'
import { editScopeOf, targetOfCall } from '../session/edit-scope.js'
import { elicit } from '../session/elicitation.js'
import { refusalMessage } from '../session/model-messages.js'
import { parkingMatcher, type ParkingOptions } from './parking.js'
import { PlanMissing, planOf, reviewPlan, type ApprovedPlan } from './plan-review.js'
import { answeredInput, questionRequest } from './question.js'
import { askedToolsMatcher, askKind, mappedTool, type ToolKinds } from './tool-kinds.js'
import type {
  CanUseTool,
  HookMatcher,
  OnElicitation,
  PermissionResult,
  PreToolUseHook,
  CanUseToolOptions,
} from './sdk.js'

/** Options for `query()` of the Claude Agent SDK. */
export interface ClaudeHooks {
  canUseTool: CanUseTool
  onElicitation: OnElicitation
  hooks?: { PreToolUse: HookMatcher[] }
}

/** Options of `createClaudeHooks`. */
export interface ClaudeHooksOptions {
  /**
   * The agent's folder. The mode `acceptEdits` allows edits inside it.
   * @default null, no edit counts as inside
   */
  cwd?: string | null
  /**
   * Where the agent stores its plan files: `~/.claude/plans`, unless its configuration is elsewhere.
   * @default null
   */
  plansFolder?: string | null
  /**
   * How long a request waits for a person, in milliseconds; `null` without a limit.
   * @default the desk's
   */
  timeoutMs?: number | null
  /**
   * Tools that ask with a kind of yours instead of an approval, and run with the answer in their input.
   * @default {}
   */
  tools?: ToolKinds
  /** Stops waiting when it aborts; pending requests stay pending. */
  signal?: AbortSignal
  /** @default the system's clock */
  clock?: Clock
}

/**
 * What an observer of the agent's messages adds to the callbacks.
 * @internal
 */
export interface ObserverPorts {
  /** Resolves when the log has the tool call. */
  waitUntilLogged(call: ClaudeCall): Promise<void>
  /** Decides about the call of an approved plan; `null` lets the agent carry it out in its present context. */
  planApproved(approved: ApprovedPlan, call: ClaudeCall): Promise<PermissionResult | null>
  planMissing(error: PlanMissing): Promise<void>
  /** Set by the adapter, which runs the agent itself. */
  adapter?: AdapterPorts
}

interface AdapterPorts {
  grants: Grants
  /** The folder that contains the agent's memory. Edits there need an approval. */
  memoryFolder: string | null
  /** `null` if processes are never parked. */
  parking: Pick<ParkingOptions, 'afterMs' | 'canPark'> | null
}

/** A tool call as Claude Code asks about it. */
export interface ClaudeCall extends CanUseToolOptions {
  toolName: string
  input: Record<string, unknown>
}

/**
 * The callbacks for a `query()` of your own: every request of the agent goes to the session's person. The tool calls that it
 * asks about appear in the log; `connectClaude` also reports everything else that the agent does.
 *
 * A request that cannot be opened is denied, with the reason for the model.
 *
 * @example
 * const session = desk.session('release')
 * query({ prompt, options: { cwd, permissionMode: 'default', ...createClaudeHooks(session, { cwd }) } })
 */
export function createClaudeHooks(
  session: SessionHandle,
  options: ClaudeHooksOptions = {},
  ports?: ObserverPorts,
): ClaudeHooks {
  const { cwd = null, plansFolder = null, timeoutMs, tools = {}, clock = jumpAwareClock } = options
  const adapter = ports?.adapter
  const editScope = editScopeOf(session, { cwd, plans: plansFolder })
  /** The last call to each MCP server: an elicitation names only the server. */
  const lastCalls = new Map<string, ClaudeCall>()
  const waitUntilLogged = (call: ClaudeCall) =>
    ports ? ports.waitUntilLogged(call) : reportCall(session, call)

  async function decide(call: ClaudeCall): Promise<PermissionResult> {
    const server = /^mcp__(.+?)__/.exec(call.toolName)?.[1]
    if (server !== undefined) lastCalls.set(server, call)
    await waitUntilLogged(call)
    const request = callRequest(askOptions(call, call.signal), clock)
    const mapped = mappedTool(tools, call.toolName)
    if (mapped) return askKind(session, call, mapped, request)
    switch (call.toolName) {
      case 'AskUserQuestion':
        return ask(session, call, request)
      case 'ExitPlanMode':
        return reviewPlan(
          session,
          call.input,
          request,
          async (plan) => ports?.planApproved(plan, call) ?? null,
        )
      default:
        return approve(session, call, request, { editScope, grants: adapter?.grants ?? null })
    }
  }

  /** Only opens the request. `decide` attaches to it when Claude Code asks about the same call. */
  async function askAhead(call: ClaudeCall): Promise<void> {
    await waitUntilLogged(call)
    const request = callRequest(askOptions(call, call.signal), clock)
    const isPlan = call.toolName === 'ExitPlanMode'
    const settled = isPlan
      ? await session.reviewPlan({ ...(await planOf(call.input)), ...request.options })
      : await session.ask({ ...questionRequest(call.input), ...request.options })
    await request.afterSettlement(settled)
  }

  /**
   * `aborted`: Claude Code does not wait for the answer any more. The adapter then stops waiting, and cancels what is pending
   * itself where that is wanted. In a query of an embedder nobody else would cancel it.
   */
  function askOptions(
    call: ClaudeCall | undefined,
    aborted: AbortSignal,
  ): AskOptions & { signal: AbortSignal } {
    return {
      ...(adapter
        ? { signal: anySignal(aborted) }
        : { signal: options.signal ?? neverAborted, cancelOn: aborted }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(call && { toolCallId: call.toolUseID, toolName: call.toolName, attach: true }),
      ...(call?.agentID !== undefined && { agentId: call.agentID }),
    }
  }

  function anySignal(signal: AbortSignal): AbortSignal {
    return options.signal ? AbortSignal.any([signal, options.signal]) : signal
  }

  const hooks = [
    ...(Object.keys(tools).length > 0 ? [askedToolsMatcher(tools)] : []),
    ...(typeof adapter?.memoryFolder === 'string' ? [memoryEditsMatcher(adapter.memoryFolder)] : []),
    ...(adapter?.parking ? [parkingMatcher({ ...adapter.parking, clock, ask: askAhead })] : []),
  ]
  return {
    async canUseTool(toolName, input, use) {
      try {
        return await decide({ toolName, input, ...use })
      } catch (error) {
        // The process is being ended. Any answer would make it send one more request to its model.
        if (adapter && options.signal?.aborted) return new Promise(() => {})
        if (error instanceof PlanMissing) await ports?.planMissing(error)
        return { behavior: 'deny', message: failureMessage(error, anySignal(use.signal)) }
      }
    },
    onElicitation: (request, { signal }) =>
      // One call may elicit several times, so each request is a new one.
      elicit(session, request, {
        ...askOptions(lastCalls.get(request.serverName), signal),
        attach: false,
      }),
    ...(hooks.length > 0 && { hooks: { PreToolUse: hooks } }),
  }
}

const neverAborted = new AbortController().signal

async function ask(
  session: SessionHandle,
  call: ClaudeCall,
  request: CallRequest,
): Promise<PermissionResult> {
  const settled = await session.ask({ ...questionRequest(call.input), ...request.options })
  await request.afterSettlement(settled)
  if (settled.settlement === 'answered')
    return { behavior: 'allow', updatedInput: answeredInput(call.input, settled.answer) }
  return { behavior: 'deny', message: refusalMessage(settled, 'the question') }
}

async function approve(
  session: SessionHandle,
  call: ClaudeCall,
  request: CallRequest,
  { editScope, grants }: { editScope: () => Promise<EditScope>; grants: Grants | null },
): Promise<PermissionResult> {
  const { toolName, title, description, decisionReason, blockedPath } = call
  const input = copyJson(call.input, 'input')
  const edit = await targetOfCall(toolName, input, await editScope())
  const toApprove = {
    toolName,
    input,
    edit,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(decisionReason !== undefined && { reason: decisionReason }),
    ...(blockedPath !== undefined && { blockedPath }),
  }
  const result = await approveCall(session, toApprove, request, grants)
  if (!result.isApproved) return { behavior: 'deny', message: result.message }
  return { behavior: 'allow', updatedInput: inputObject(result.input) }
}

function inputObject(input: Json): Record<string, Json> {
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input
  throw new Error('The input of a tool must be an object.')
}

async function reportCall(session: SessionHandle, { toolUseID, toolName, input }: ClaudeCall): Promise<void> {
  const call = { toolCallId: toolUseID, toolName, input: copyJson(input, 'input') }
  await session.report({ type: 'tool_call', ...call, source: 'agent' })
}

/** Claude Code edits its memory without asking, and reads it as instructions in later sessions. This makes it ask. */
function memoryEditsMatcher(folder: string): HookMatcher {
  const hook: PreToolUseHook = async ({ tool_input: input }) => {
    const path = input instanceof Object && 'file_path' in input ? input.file_path : null
    return typeof path === 'string' && isBelow(folder, path) ? ASK_ABOUT_MEMORY : {}
  }
  return { matcher: 'Write|Edit|MultiEdit', hooks: [hook] }
}

const ASK_ABOUT_MEMORY = {
  hookSpecificOutput: {
    hookEventName: 'PreToolUse',
    permissionDecision: 'ask',
    permissionDecisionReason: 'Claude reads the files of its memory as instructions in later sessions.',
  },
} as const

function isBelow(folder: string, path: string): boolean {
  const fromFolder = relative(folder, resolve(path))
  return !fromFolder.startsWith('..') && !isAbsolute(fromFolder)
}

function failureMessage(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'The session was stopped before anybody answered.'
  return `The user could not be asked: ${errorMessage(error)}`
}
