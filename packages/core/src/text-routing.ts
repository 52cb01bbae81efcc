import type { ErrorCode, Interaction, Json } from '@askback/protocol'
import { formRequest, questionRequest } from '@askback/protocol'
import { isBareYes } from './bare-yes.js'
import { singleTextField } from './form.js'
import { checkReply, currentQuestion, progressOf, readTextReply } from './question.js'

/** Where a person's message goes. */
export type TextRoute =
  | { to: 'answer'; kind: string; interactionId: string; answer: Json }
  /** More questions follow; these are the replies so far, for `interaction_progress`. */
  | { to: 'progress'; kind: 'question'; interactionId: string; answers: Json[] }
  /** Nothing pending takes text: the message is for the agent. */
  | { to: 'nobody' }
  | { to: 'refused'; code: ErrorCode; message: string }

/** First by kind, then the oldest of that kind; `pending` comes oldest first. Naming an interaction leaves no choice. */
export function routeText(
  pending: readonly Interaction[],
  text: string,
  options: { interactionId?: string | undefined; questionIndex?: number | undefined } = {},
): TextRoute {
  const { interactionId, questionIndex } = options
  if (text.trim() === '') return refused('invalid_request', 'The text is empty.')
  if (interactionId !== undefined) {
    const named = pending.find((item) => item.interactionId === interactionId)
    if (!named)
      return refused('not_found', `No interaction ${JSON.stringify(interactionId)} is pending here.`)
    return (
      deliver(named, text, questionIndex) ??
      refused('nothing_pending', `The interaction ${JSON.stringify(interactionId)} takes no text.`)
    )
  }
  // Who says which question is answered speaks of a question: such a text must not deny an approval.
  const kinds = questionIndex === undefined ? kindOrder : (['question'] as const)
  for (const kind of kinds) {
    for (const item of pending) {
      const route = item.kind === kind ? deliver(item, text, questionIndex) : null
      if (route) return route
    }
  }
  return questionIndex === undefined
    ? { to: 'nobody' }
    : refused('nothing_pending', 'No question is pending.')
}

const kindOrder = ['approval', 'plan_review', 'question', 'form'] as const

/** `null` if it takes no text. */
function deliver(item: Interaction, text: string, questionIndex: number | undefined): TextRoute | null {
  const { kind, interactionId } = item
  if (questionIndex !== undefined && kind !== 'question') {
    return refused('invalid_request', 'A `questionIndex` goes with a question only.')
  }
  switch (kind) {
    case 'approval':
      if (isBareYes(text)) {
        return refused(
          'needs_decision',
          'A text denies with a reason. To approve, use the approve control of the request.',
        )
      }
      return { to: 'answer', kind, interactionId, answer: { decision: 'deny', message: text } }
    case 'plan_review':
      return { to: 'answer', kind, interactionId, answer: { decision: 'adjust', feedback: text } }
    case 'question':
      return answerQuestion(item, text, questionIndex)
    case 'form': {
      const field = singleTextField(formRequest.parse(item.request))
      return field === null
        ? null
        : { to: 'answer', kind, interactionId, answer: { values: { [field]: text } } }
    }
    default:
      return null
  }
}

function answerQuestion(item: Interaction, text: string, questionIndex: number | undefined): TextRoute {
  const { interactionId } = item
  const request = questionRequest.parse(item.request)
  const progress = progressOf(item.progress)
  const current = currentQuestion(request, progress)
  if (questionIndex !== undefined && questionIndex < current) {
    return refused(
      'already_settled',
      `Question ${questionIndex + 1} has been answered; question ${current + 1} is next.`,
    )
  }
  if (questionIndex !== undefined && questionIndex !== current) {
    return refused(
      'invalid_request',
      `Question ${questionIndex + 1} is not asked yet; question ${current + 1} is next.`,
    )
  }
  const reply = readTextReply(request.questions[current]!, text)
  const answers = [...progress, reply].map((each, index) => checkReply(request, index, each))
  return answers.length < request.questions.length
    ? { to: 'progress', kind: 'question', interactionId, answers }
    : { to: 'answer', kind: 'question', interactionId, answer: { answers } }
}

function refused(code: ErrorCode, message: string): TextRoute {
  return { to: 'refused', code, message }
}
