import type { Clock, SessionHandle } from '@askback/core'
import { copyJson, type Json } from '@askback/protocol'
import { refusalOfCall, type AskedCall } from '../session/approved.js'
import { asking, type Asking } from '../session/asking.js'
import { editTarget } from '../session/edit-target.js'
import { elicit } from '../session/elicitation.js'
import type { Grants } from '../session/grants.js'
import { reviewOf } from '../session/plan.js'
import type {
  ElicitationRequest,
  PermissionOption,
  PermissionOutcome,
  PermissionRequest,
  ToolCall,
} from './protocol.js'

export interface PermissionPorts {
  session: SessionHandle
  cwd: string | null
  clock: Clock
  grants: Grants
  timeoutMs?: number | null
  agentName: string
  signal: () => AbortSignal
  /** The call as it is known now; it stands in the log. */
  announce: (call: ToolCall) => Promise<{ call: ToolCall; toolName: string; input: Json }>
  nameOf: (toolCallId: string) => string | undefined
  /** For the model, as soon as the agent takes a message: its answers have no room for words. */
  tell: (text: string) => void
  /** Goes on in a session that knows nothing but the plan. */
  startAfresh: (message: string) => void
}

/** What an agent asks to be allowed, put to the session's person. */
export async function permission(
  { toolCall, options }: PermissionRequest,
  ports: PermissionPorts,
): Promise<{ outcome: PermissionOutcome }> {
  const { call, toolName, input } = await ports.announce(toolCall)
  const ask = askingAbout(call.toolCallId, toolName, ports)
  try {
    const plan = planIn(call)
    if (plan !== null) return { outcome: await review(plan, toolName, ask, options, ports) }
    const asked: AskedCall = {
      toolName,
      input,
      edit: await placeOf(call, ports.cwd),
      ...(call.title && { title: call.title }),
      ...preview(call),
    }
    const refused = await refusalOfCall(ports.session, asked, ask, ports.grants)
    if (refused === null) return { outcome: choose(options, 'allow') }
    if (refused.isWorded) ports.tell(refused.why)
    return { outcome: choose(options, 'reject') }
  } catch (error) {
    if (ask.options.signal.aborted) return { outcome: { outcome: 'cancelled' } }
    throw error
  }
}

/** A plan that is handed in by asking to leave the mode for planning. */
async function review(
  plan: string,
  toolName: string,
  ask: Asking,
  options: PermissionOption[],
  { session, tell, startAfresh }: PermissionPorts,
): Promise<PermissionOutcome> {
  const settled = await session.reviewPlan({ plan, ...ask.options, toolName })
  await ask.settled(settled)
  const { next, told, isError, isFresh } = reviewOf(settled, plan)
  if (isError) {
    tell(next ?? told)
    return choose(options, 'reject')
  }
  if (!isFresh) return choose(options, 'allow')
  startAfresh(next ?? plan)
  return choose(options, 'reject')
}

/** Never for longer than once: rules are kept by Askback alone. */
function choose(options: PermissionOption[], what: 'allow' | 'reject'): PermissionOutcome {
  const fits =
    options.find(({ kind }) => kind === `${what}_once`) ??
    options.find(({ kind }) => kind === `${what}_always`)
  return fits ? { outcome: 'selected', optionId: fits.optionId } : { outcome: 'cancelled' }
}

export async function elicitation(
  { toolCallId, mode, message, requestedSchema, url }: ElicitationRequest,
  ports: PermissionPorts,
): Promise<object> {
  const id = toolCallId ?? undefined
  const toolName = (id === undefined ? undefined : ports.nameOf(id)) ?? 'elicitation'
  const ask = askingAbout(id, toolName, ports)
  try {
    const result = await elicit(
      ports.session,
      {
        serverName: ports.agentName,
        message,
        mode: mode === 'url' ? 'url' : 'form',
        ...(url !== undefined && { url }),
        ...(requestedSchema && { requestedSchema }),
      },
      // A call may ask more than once: each time is a request of its own.
      { ...ask.options, attach: false },
    )
    return { action: result.action, ...(result.content && { content: result.content }) }
  } catch {
    return { action: ask.options.signal.aborted ? 'cancel' : 'decline' }
  }
}

function askingAbout(toolCallId: string | undefined, toolName: string, ports: PermissionPorts): Asking {
  const { timeoutMs, clock, signal } = ports
  return asking(
    {
      toolName,
      signal: signal(),
      ...(toolCallId !== undefined && { toolCallId, attach: true }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    },
    clock,
  )
}

function planIn({ kind, rawInput }: ToolCall): string | null {
  if (kind !== 'switch_mode' || typeof rawInput !== 'object' || rawInput === null) return null
  const plan = 'plan' in rawInput ? rawInput.plan : null
  return typeof plan === 'string' && plan.trim() !== '' ? plan : null
}

function diffsOf({ content }: ToolCall) {
  return content?.filter((part) => part.type === 'diff') ?? []
}

function preview(call: ToolCall): { preview?: Json } {
  const diffs = diffsOf(call).map(({ path, oldText, newText }) => ({ path, oldText: oldText ?? '', newText }))
  return diffs.length === 0 ? {} : { preview: copyJson({ diffs }, 'preview') }
}

async function placeOf(call: ToolCall, cwd: string | null): Promise<AskedCall['edit']> {
  if (call.kind !== 'edit') return 'none'
  // Only the diff says for sure what is written.
  const paths = diffsOf(call).map(({ path }) => path)
  for (const file_path of paths) {
    if ((await editTarget('Write', { file_path }, { cwd, plans: null })) !== 'inside') return 'outside'
  }
  return paths.length > 0 ? 'inside' : 'outside'
}
