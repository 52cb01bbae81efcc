import {
  AskbackError,
  approvalAnswer,
  approvalRequest,
  type ApprovalAnswer,
  type ApprovalRequest,
} from '@askback/protocol'
import { defineInteraction, type Outcome } from './kinds.js'

export const approvalKind = defineInteraction<ApprovalRequest, ApprovalAnswer>({
  kind: 'approval',
  presentation: 'tool',
  request: approvalRequest,
  answer: approvalAnswer,
  plain: true,
  settle(_request, given) {
    const { decision, scope, updatedInput, message } = given
    const answer = {
      decision,
      ...(scope !== undefined && { scope }),
      ...(updatedInput !== undefined && { updatedInput }),
      ...(message !== undefined && { message }),
    }
    switch (decision) {
      case 'approve':
        // A rule is for the input that was asked about; one that was edited on the way is approved this once.
        if (updatedInput !== undefined && isLasting(scope))
          refuse(`An edited input goes with the scope "once", not "${scope}".`)
        return { settlement: 'approved', answer }
      case 'deny': {
        if (isLasting(scope)) refuse(`A denial counts once; it takes no scope "${scope}".`)
        if (updatedInput !== undefined) refuse('A denial takes no edited input.')
        const denied: Outcome = { settlement: 'denied', answer }
        return message?.trim() ? { ...denied, message } : denied
      }
      default:
        return decision satisfies never
    }
  },
})

function isLasting(scope: ApprovalAnswer['scope']): boolean {
  return scope !== undefined && scope !== 'once'
}

function refuse(message: string): never {
  throw new AskbackError('invalid_answer', message)
}
