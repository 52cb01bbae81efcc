import type { Clock, EditScope, SessionHandle } from '@askback/core'
import { copyJson, digestOf, type Json } from '@askback/protocol'
import { refusalOfCall, type AskedCall } from '../session/approved.js'
import { asking, type Asking } from '../session/asking.js'
import { targetOfFiles } from '../session/edit-target.js'
import { elicit } from '../session/elicitation.js'
import type { Grants } from '../session/grants.js'
import { reviewOf } from '../session/plan.js'
import { diffsOf, hasInput, type KnownCall } from './calls.js'
import type {
  ElicitationRequest,
  PermissionOption,
  PermissionOutcome,
  PermissionRequest,
  ToolCall,
} from './protocol.js'

export interface PermissionPorts {
  session: SessionHandle
  editScope: () => Promise<EditScope>
  clock: Clock
  grants: Grants
  timeoutMs?: number | null
  agentName: string
  signal: () => AbortSignal
  /** Puts the call into the log that somebody is asked about. */
  announce: (call: ToolCall) => Promise<void>
  /** The call as it is known now. */
  known: (toolCallId: string) => KnownCall
  /** Calls `changed` when its input changes; returns how to stop that. */
  watch: (toolCallId: string, changed: () => void) => () => void
  nameOf: (toolCallId: string) => string | undefined
  /** For the model, as soon as the agent takes a message: its answers have no room for words. */
  tell: (text: string) => void
  /** For people, in the log. */
  note: (code: string, message: string) => Promise<void>
  /** Goes on in a session that knows nothing but the plan. */
  startAfresh: (message: string) => void
}

/** What comes of a request, before it is put into the words of the protocol. */
interface Verdict {
  allows: boolean
  /** For the model. */
  tell?: string
  /** The first message of a fresh context. */
  startAfresh?: string
}

/** What an agent asks to be allowed, put to the session's person. */
export async function permission(
  { toolCall, options }: PermissionRequest,
  ports: PermissionPorts,
): Promise<{ outcome: PermissionOutcome }> {
  await ports.announce(toolCall)
  const signal = ports.signal()
  try {
    const verdict = await verdictOn(toolCall.toolCallId, options, ports)
    if (verdict.startAfresh !== undefined) ports.startAfresh(verdict.startAfresh)
    if (verdict.tell !== undefined) ports.tell(verdict.tell)
    const outcome = choose(options, verdict.allows ? 'allow_once' : 'reject_once')
    if (verdict.allows && outcome.outcome === 'cancelled') await sayUnused(ports)
    return { outcome }
  } catch (error) {
    if (signal.aborted) return { outcome: { outcome: 'cancelled' } }
    throw error
  }
}

/**
 * Asks about the call as it is known now, and anew whenever its input changes before the agent has its answer: what a
 * person approved must be what runs. Asking anew supersedes what is pending (L11).
 */
async function verdictOn(
  toolCallId: string,
  options: PermissionOption[],
  ports: PermissionPorts,
): Promise<Verdict> {
  for (;;) {
    const known = ports.known(toolCallId)
    let stop = () => {}
    const changed = new Promise<null>((resolve) => {
      stop = ports.watch(toolCallId, () => resolve(null))
    })
    const asked = ask(known, options, ports)
    // Nobody waits for it once the call has changed.
    asked.catch(() => {})
    const verdict = await Promise.race([asked, changed]).finally(() => stop())
    if (verdict && isSame(known, ports.known(toolCallId))) return verdict
  }
}

async function ask(
  { call, toolName, input }: KnownCall,
  options: PermissionOption[],
  ports: PermissionPorts,
): Promise<Verdict> {
  const about = askingAbout(call.toolCallId, toolName, ports)
  const plan = planIn(call)
  if (plan !== null) return review(plan, toolName, about, ports)
  const asked: AskedCall = {
    toolName,
    input,
    edit: await placeOf(call, ports),
    ...(call.title && { title: call.title }),
    ...(!canApproveOnce(options) && { reason: onlyAlways(ports, 'so approving will cancel the call') }),
    ...preview(call),
  }
  const refused = await refusalOfCall(ports.session, asked, about, ports.grants)
  if (refused === null) return { allows: true }
  return { allows: false, ...(refused.isWorded && { tell: refused.why }) }
}

/** A plan that is handed in by asking to leave the mode for planning. */
async function review(
  plan: string,
  toolName: string,
  about: Asking,
  { session }: PermissionPorts,
): Promise<Verdict> {
  const settled = await session.reviewPlan({ plan, ...about.options, toolName })
  await about.settled(settled)
  const { next, told, isError, isFresh } = reviewOf(settled, plan)
  if (isError) return { allows: false, tell: next ?? told }
  return isFresh ? { allows: false, startAfresh: next ?? plan } : { allows: true }
}

/** Only what holds once: rules are Askback's alone, and an agent's own “always” or “never” would outlive the answer. */
function choose(options: PermissionOption[], kind: 'allow_once' | 'reject_once'): PermissionOutcome {
  const fits = options.find((option) => option.kind === kind)
  return fits ? { outcome: 'selected', optionId: fits.optionId } : { outcome: 'cancelled' }
}

function canApproveOnce(options: PermissionOption[]): boolean {
  return options.some(({ kind }) => kind === 'allow_once')
}

function onlyAlways({ agentName }: PermissionPorts, so: string): string {
  return `${agentName} offers only “always” for this call. Askback grants no more than you approve, ${so}.`
}

async function sayUnused(ports: PermissionPorts): Promise<void> {
  await ports.note('approval_unused', onlyAlways(ports, 'so it cancelled the call'))
  ports.tell('The user approved this call, but it cannot be approved just once here, so it has not run.')
}

function isSame(one: KnownCall, other: KnownCall): boolean {
  return digestOf(one.toolName, one.input) === digestOf(other.toolName, other.input)
}

export async function elicitation(
  { toolCallId, mode, message, requestedSchema, url }: ElicitationRequest,
  ports: PermissionPorts,
): Promise<object> {
  const id = toolCallId ?? undefined
  const known = id === undefined ? undefined : ports.nameOf(id)
  if (id !== undefined && known !== undefined) await ports.announce({ toolCallId: id })
  const toolName = known ?? 'elicitation'
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

/** Where the agent tells no input, the changes are the input. */
function preview(call: ToolCall): { preview?: Json } {
  const diffs = diffsOf(call)
  return diffs.length === 0 || !hasInput(call) ? {} : { preview: copyJson({ diffs }, 'preview') }
}

async function placeOf(call: ToolCall, { editScope }: PermissionPorts): Promise<AskedCall['edit']> {
  if (call.kind !== 'edit') return 'none'
  // Only the diff says for sure what is written.
  const paths = diffsOf(call).map(({ path }) => path)
  return targetOfFiles(paths, await editScope())
}
