import { readFile } from 'node:fs/promises'
import { planEffect, type Reported, type SessionHandle } from '@askback/core'
import { AskbackError, type PermissionMode, type PlanReviewRequest } from '@askback/protocol'
import type { Asking } from '../session/asking.js'
import { PLAN_APPROVED, planMessage } from '../session/plan.js'
import { planChange, refusalOf } from '../session/refusal.js'
import type { PermissionResult, SetMode } from './sdk.js'

/** Out of plan mode: the session's own mode has changed with the decision, and the desk goes by that. */
const leavePlanMode: SetMode = { type: 'setMode', mode: 'default', destination: 'session' }

/** A plan that nobody wrote down cannot be reviewed. */
export class PlanMissing extends AskbackError {
  constructor(path: string | undefined) {
    const where = path === undefined ? '' : ` (${path})`
    super('invalid_request', `There is no plan to review: the plan file${where} is missing or empty.`)
  }
}

/** A plan as a person approved it, and what they chose for carrying it out. */
export interface ApprovedPlan {
  /** As the person may have edited it. */
  plan: string
  /** The session's mode from now on. Askback applies it to whatever the agent asks. */
  permissionMode: PermissionMode
  /** Whether it is to be carried out by an agent that knows nothing but the plan. */
  freshContext: boolean
  /** The first message for such an agent. */
  prompt: string
}

export async function reviewPlan(
  session: SessionHandle,
  input: Record<string, unknown>,
  asking: Asking,
  planApproved: (approved: ApprovedPlan) => Promise<PermissionResult | null>,
): Promise<PermissionResult> {
  const request = await planOf(input)
  const settled = await session.reviewPlan({ ...request, ...asking.options })
  await asking.settled(settled)
  if (settled.settlement === 'denied') return { behavior: 'deny', message: planChange(settled.message) }
  if (settled.settlement !== 'approved')
    return { behavior: 'deny', message: refusalOf(asRefused(settled), 'the plan') }
  const { decision, updatedPlan } = settled.answer
  const plan = updatedPlan ?? request.plan
  const { freshContext, mode: permissionMode } = planEffect(decision)!
  const elsewhere = await planApproved({ plan, permissionMode, freshContext, prompt: planMessage(plan) })
  return (
    elsewhere ?? {
      behavior: 'allow',
      updatedInput: { ...input, plan },
      updatedPermissions: [leavePlanMode],
    }
  )
}

/** The agent's own program reads the plan from its file and adds it to the call. */
export async function planOf(input: Record<string, unknown>): Promise<PlanReviewRequest> {
  const path = typeof input['planFilePath'] === 'string' ? input['planFilePath'] : undefined
  const given = typeof input['plan'] === 'string' ? input['plan'] : ''
  const plan =
    given.trim() === '' && path !== undefined ? await readFile(path, 'utf8').catch(() => '') : given
  if (plan.trim() === '') throw new PlanMissing(path)
  return { plan, ...(path !== undefined && { planFilePath: path }) }
}

export function planApproved(toolCallId: string): Reported {
  return { type: 'tool_result', toolCallId, output: PLAN_APPROVED, isError: false }
}

function asRefused<T extends { settlement: string }>(settled: T): Exclude<T, { settlement: 'answered' }> {
  return settled as Exclude<T, { settlement: 'answered' }>
}
