/**
 * Answers the requests of an ACP agent: opens an interaction for each one, and translates its settlement.
 *
 * The protocol lets a person only choose among options that the agent offers, and an answer cannot contain words. What a person
 * says is therefore sent to the model as the next message. Only options that hold once are chosen: permission rules are stored
 * by Askback alone, and an agent's own “always” or “never” would outlive the answer.
 */
import type { EditScope, SessionHandle } from '@askback/core'
import { copyJson, digestOf, type Json } from '@askback/protocol'
import { refuseCall, type CallToApprove, type Grants } from '../session/approval.js'
import { requestForCall, type CallRequest, type CallRequestPorts } from '../session/call-request.js'
import { targetOfFiles } from '../session/edit-scope.js'
import { elicit } from '../session/elicitation.js'
import { planReviewResult } from '../session/model-messages.js'
import type {
  ElicitationRequest,
  PermissionOption,
  PermissionOutcome,
  PermissionRequest,
  AcpToolCall,
} from './protocol.js'
import { planOf, type SubmittedPlan } from './plan.js'
import { diffsOf, hasInput, type KnownCall } from './tool-calls.js'

export interface PermissionPorts extends CallRequestPorts {
  session: SessionHandle
  editScope: () => Promise<EditScope>
  grants: Grants
  agentName: string
  /** The name that the agent's program gives itself. */
  programName: string | undefined
  /** Logs the call that a person is about to be asked about. */
  logCall: (call: AcpToolCall) => Promise<void>
  getCall: (toolCallId: string) => KnownCall
  /** Calls `onChange` when the call's tool or input changes. Returns a function that stops this. */
  watchCall: (toolCallId: string, onChange: () => void) => () => void
  toolNameOf: (toolCallId: string) => string | undefined
  /** Sends the model a message as soon as the agent accepts one. */
  tellModel: (text: string) => void
  /** Reports a notice to people. */
  reportNotice: (code: string, message: string) => Promise<void>
  /** Cancels the agent's turn, and continues in a session that knows nothing but this message. */
  startFresh: (message: string) => void
}

/** The result of a request, before it is translated into an option of the agent. */
interface PermissionReply {
  isAllowed: boolean
  messageForModel?: string
  /** The first message of a fresh context. */
  freshMessage?: string
}

export async function answerPermission(
  { toolCall, options }: PermissionRequest,
  ports: PermissionPorts,
): Promise<{ outcome: PermissionOutcome }> {
  await ports.logCall(toolCall)
  const signal = ports.signal()
  try {
    const result = await askUntilUnchanged(toolCall.toolCallId, options, ports)
    if (result.freshMessage !== undefined) ports.startFresh(result.freshMessage)
    if (result.messageForModel !== undefined) ports.tellModel(result.messageForModel)
    const outcome = chooseOption(options, result.isAllowed ? 'allow_once' : 'reject_once')
    if (result.isAllowed && outcome.outcome === 'cancelled') await reportUnusedApproval(ports)
    return { outcome }
  } catch (error) {
    if (signal.aborted) return { outcome: { outcome: 'cancelled' } }
    throw error
  }
}

export async function answerElicitation(
  { toolCallId, mode, message, requestedSchema, url }: ElicitationRequest,
  ports: PermissionPorts,
): Promise<object> {
  const id = toolCallId ?? undefined
  const known = id === undefined ? undefined : ports.toolNameOf(id)
  if (id !== undefined && known !== undefined) await ports.logCall({ toolCallId: id })
  const request = requestForCall({ toolCallId: id, toolName: known ?? 'elicitation' }, ports)
  const { action, content } = await elicit(
    ports.session,
    { serverName: ports.agentName, message, mode, url, requestedSchema },
    // One call may elicit several times, so each request is a new one.
    { ...request.options, attach: false },
  )
  return { action, ...(content && { content }) }
}

/**
 * Asks about the call as it is known now, and asks again if its input changes before the agent has the answer: what runs must
 * be what the person approved. The new request supersedes the pending one (L11).
 */
async function askUntilUnchanged(
  toolCallId: string,
  options: PermissionOption[],
  ports: PermissionPorts,
): Promise<PermissionReply> {
  for (;;) {
    const known = ports.getCall(toolCallId)
    let stopWatching = () => {}
    const changed = new Promise<null>((resolve) => {
      stopWatching = ports.watchCall(toolCallId, () => resolve(null))
    })
    const asked = ask(known, options, ports)
    // Once the call has changed, nobody else handles its rejection.
    asked.catch(() => {})
    const result = await Promise.race([asked, changed]).finally(() => stopWatching())
    if (result && isSameCall(known, ports.getCall(toolCallId))) return result
  }
}

async function ask(
  { call, toolName, input }: KnownCall,
  options: PermissionOption[],
  ports: PermissionPorts,
): Promise<PermissionReply> {
  const { toolCallId } = call
  const request = requestForCall({ toolCallId, toolName }, ports)
  const plan = await planOf(call, ports.programName)
  if (plan !== null) return reviewPlan(call, plan, request, ports)
  const canApproveOnce = options.some(({ kind }) => kind === 'allow_once')
  const toApprove: CallToApprove = {
    toolName,
    input,
    edit: await editTargetOf(call, ports),
    ...(call.title && { title: call.title }),
    ...(!canApproveOnce && { notes: ['only_always'] }),
    ...preview(call),
  }
  const refused = await refuseCall(ports.session, toApprove, request, ports.grants)
  if (refused === null) return { isAllowed: true }
  return { isAllowed: false, ...(refused.isExplained && { messageForModel: refused.message }) }
}

/**
 * Agents hand in a plan by asking to leave plan mode. If the plan is a file that has changed when it is approved, the new text is
 * reviewed: the agent would carry out what is in the file.
 */
async function reviewPlan(
  call: AcpToolCall,
  plan: SubmittedPlan,
  request: CallRequest,
  ports: PermissionPorts,
): Promise<PermissionReply> {
  const { text, path } = plan
  const file = path === undefined ? {} : { planFilePath: path }
  const settled = await ports.session.reviewPlan({ plan: text, ...file, ...request.options })
  await request.afterSettlement(settled)
  const { nextMessage, output, isError, isFreshContext } = planReviewResult(settled, text)
  if (isError) return { isAllowed: false, messageForModel: nextMessage ?? output }
  const current = await planOf(call, ports.programName)
  if (current?.text !== text && current !== null) return reviewPlan(call, current, request, ports)
  if (isFreshContext) return { isAllowed: false, freshMessage: nextMessage ?? text }
  // The agent would carry out its own text. An edited plan reaches it as a message, in the mode that the person has chosen.
  const isEdited = settled.settlement === 'approved' && settled.answer.updatedPlan !== undefined
  if (isEdited && nextMessage !== null) return { isAllowed: false, messageForModel: nextMessage }
  return { isAllowed: true }
}

function chooseOption(options: PermissionOption[], kind: 'allow_once' | 'reject_once'): PermissionOutcome {
  const option = options.find((one) => one.kind === kind)
  return option ? { outcome: 'selected', optionId: option.optionId } : { outcome: 'cancelled' }
}

async function reportUnusedApproval(ports: PermissionPorts): Promise<void> {
  const why = `${ports.agentName} offers only “always” for this call. Askback grants no more than you approve, so it cancelled the call.`
  await ports.reportNotice('approval_unused', why)
  ports.tellModel('The user approved this call, but it cannot be approved just once here, so it has not run.')
}

function isSameCall(one: KnownCall, other: KnownCall): boolean {
  return digestOf(one.toolName, one.input) === digestOf(other.toolName, other.input)
}

/** A call without an input has its changes as the input (see tool-calls.ts), so it needs no preview of them. */
function preview(call: AcpToolCall): { preview?: Json } {
  const diffs = diffsOf(call)
  return diffs.length === 0 || !hasInput(call) ? {} : { preview: copyJson({ diffs }, 'preview') }
}

/** Only the diffs say for sure which files are written. */
async function editTargetOf(
  call: AcpToolCall,
  { editScope }: PermissionPorts,
): Promise<CallToApprove['edit']> {
  if (call.kind !== 'edit') return 'none'
  const paths = diffsOf(call).map(({ path }) => path)
  return targetOfFiles(paths, await editScope())
}
