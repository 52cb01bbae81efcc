import {
  AskbackError,
  approvalAnswer,
  approvalRequest,
  type ApprovalAnswer,
  type ApprovalRequest,
  type Json,
} from '@askback/protocol'
import { defineInteraction, type AcceptedAnswer } from './kinds.js'

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
        // The rule would allow the input that the agent asked about, but the person approved another one.
        if (updatedInput !== undefined && isLasting(scope))
          reject(`An edited input can only have the scope "once", not "${scope}".`)
        return { settlement: 'approved', answer }
      case 'deny': {
        if (isLasting(scope)) reject(`A denial counts once; it cannot have the scope "${scope}".`)
        if (updatedInput !== undefined) reject('A denial cannot have an edited input.')
        const denied: AcceptedAnswer = { settlement: 'denied', answer }
        return message?.trim() ? { ...denied, message } : denied
      }
      default:
        return decision satisfies never
    }
  },
})

/** The input in the request of an approval. For requests that `approvalKind` has checked. */
export function inputOfApproval(request: Json): Json {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema of the kind has checked it
  return (request as ApprovalRequest).input
}

function isLasting(scope: ApprovalAnswer['scope']): boolean {
  return scope !== undefined && scope !== 'once'
}

function reject(message: string): never {
  throw new AskbackError('invalid_answer', message)
}
