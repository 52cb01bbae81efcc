import { readFile } from 'node:fs/promises'
import type { ReportedEvent, SessionHandle } from '@askback/core'
import { planEffect } from '@askback/core/internal'
import { AskbackError, type PermissionMode, type PlanReviewRequest } from '@askback/protocol'
import type { CallRequest } from '../session/call-request.js'
import {
  PLAN_HANDED_OVER,
  planChangeMessage,
  planMessage,
  refusalMessage,
} from '../session/model-messages.js'
import type { PermissionResult, SetMode } from './sdk.js'

/** Always `default`: the decision has changed the mode of the session, and the desk applies that one. */
const LEAVE_PLAN_MODE: SetMode = { type: 'setMode', mode: 'default', destination: 'session' }

/** The agent has handed in a plan without text. */
export class PlanMissing extends AskbackError {
  constructor(path: string | undefined) {
    const where = path === undefined ? '' : ` (${path})`
    super('invalid_request', `There is no plan to review: the plan file${where} is missing or empty.`)
  }
}

/** A plan that a person has approved, and how it is to be carried out. */
export interface ApprovedPlan {
  /** The person may have edited it. */
  plan: string
  /** The session's mode from now on. Askback applies it to the agent's requests. */
  permissionMode: PermissionMode
  /** Whether it is to be carried out by an agent that knows nothing but the plan. */
  freshContext: boolean
  /** The first message for such an agent. */
  prompt: string
}

/** `planApproved` may decide about the call; `null` lets the agent carry the plan out. */
export async function reviewPlan(
  session: SessionHandle,
  input: Record<string, unknown>,
  request: CallRequest,
  planApproved: (approved: ApprovedPlan) => Promise<PermissionResult | null>,
): Promise<PermissionResult> {
  const review = await planOf(input)
  const settled = await session.reviewPlan({ ...review, ...request.options })
  await request.afterSettlement(settled)
  if (settled.settlement === 'denied')
    return { behavior: 'deny', message: planChangeMessage(settled.message) }
  if (settled.settlement !== 'approved')
    return { behavior: 'deny', message: refusalMessage(settled, 'the plan') }
  const { decision, updatedPlan } = settled.answer
  const plan = updatedPlan ?? review.plan
  const { freshContext, mode: permissionMode } = planEffect(decision)!
  const decided = await planApproved({ plan, permissionMode, freshContext, prompt: planMessage(plan) })
  return (
    decided ?? {
      behavior: 'allow',
      updatedInput: { ...input, plan },
      updatedPermissions: [LEAVE_PLAN_MODE],
    }
  )
}

/** Claude Code usually adds the text of the plan file to the call, but may give its path only. Throws `PlanMissing`. */
export async function planOf(input: Record<string, unknown>): Promise<PlanReviewRequest> {
  const path = typeof input['planFilePath'] === 'string' ? input['planFilePath'] : undefined
  const given = typeof input['plan'] === 'string' ? input['plan'] : ''
  const plan =
    given.trim() === '' && path !== undefined ? await readFile(path, 'utf8').catch(() => '') : given
  if (plan.trim() === '') throw new PlanMissing(path)
  return { plan, ...(path !== undefined && { planFilePath: path }) }
}

/** The result of a review whose plan another context carries out. */
export function handedOverResult(toolCallId: string): Extract<ReportedEvent, { type: 'tool_result' }> {
  return { type: 'tool_result', toolCallId, output: PLAN_HANDED_OVER, isError: false }
}
