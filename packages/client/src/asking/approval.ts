import { approvedInput, copyJson, parseWith } from '@askback/protocol'
import type { PlanApproval, ApproveOptions, ReviewPlanOptions } from './askback.js'
import { answeredAs, missingAnswer, type AskedRequest } from './asked-request.js'

/** The request to run a tool, and what may run. What was approved is the JSON that was shown, so that is what is returned. */
export function approvalRequest<Input>(
  toolName: string,
  input: Input,
  { schema, title, description, reason, preview }: ApproveOptions<Input>,
): AskedRequest<Input> {
  // JSON has no `undefined`, which is the input of a function without parameters.
  const isMissing = input === undefined
  return {
    kind: 'approval',
    toolName,
    request: {
      input: isMissing ? null : copyJson(input, 'input'),
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      ...(reason !== undefined && { reason }),
      ...(preview !== undefined && { preview }),
    },
    read(interaction) {
      const approval = answeredAs(interaction, 'approval')
      const allowed = approvedInput(approval)
      const isEdited = approval.answer.updatedInput !== undefined
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is the JSON of the input that was passed in
      if (!isEdited) return { value: (isMissing ? undefined : allowed) as Input }
      if (!schema) return missingAnswer('edited_input', interaction)
      return { value: parseWith(schema, allowed, { code: 'invalid_answer', what: 'the edited input' }) }
    },
  }
}

export function planRequest(plan: string, { planFilePath }: ReviewPlanOptions): AskedRequest<PlanApproval> {
  return {
    kind: 'plan_review',
    request: { plan, ...(planFilePath !== undefined && { planFilePath }) },
    read(interaction) {
      const { decision, feedback, updatedPlan = plan } = answeredAs(interaction, 'plan_review').answer
      // `adjust` settles as denied, so it does not come here; its type does not say so.
      if (decision === 'adjust') return { reason: 'denied', message: feedback ?? '' }
      return { value: { plan: updatedPlan, decision } }
    },
  }
}
