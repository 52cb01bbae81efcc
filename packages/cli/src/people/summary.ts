import type {
  ApprovalRequest,
  FormRequest,
  Interaction,
  PlanReviewRequest,
  QuestionRequest,
} from '@askback/protocol'

/** What is asked, in one text. */
export function summaryOf({ kind, toolName, request }: Interaction): string {
  switch (kind) {
    case 'question':
      return (request as QuestionRequest).questions.map(questionText).join(' · ')
    case 'approval':
      return `${toolName} ${JSON.stringify((request as ApprovalRequest).input)}`
    case 'plan_review':
      return (request as PlanReviewRequest).plan
    case 'form':
      return (request as FormRequest).message
    default:
      return `${toolName} ${JSON.stringify(request)}`
  }
}

function questionText({ question, options }: QuestionRequest['questions'][number]): string {
  if (options.length === 0) return question
  return `${question} [${options.map(({ label }, index) => `${index + 1} ${label}`).join(' | ')}]`
}
