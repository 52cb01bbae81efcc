import {
  AskbackError,
  checkReply,
  formRequest,
  questionRequest,
  readTextReply,
  type ErrorCode,
  type Interaction,
  type Json,
} from '@askback/protocol'
import { singleTextField } from '../kinds/form.js'
import { currentQuestion, progressOf } from '../kinds/question.js'
import { isBareYes } from './bare-yes.js'

/** Where a person's message goes. */
export type TextRoute =
  | { to: 'answer'; interactionId: string; answer: Json }
  /** More questions follow; these are the replies so far, for `interaction_progress`. */
  | { to: 'progress'; interactionId: string; answers: Json[] }
  /** Nothing pending takes text: the message is for the agent. */
  | { to: 'nobody' }

export interface RoutedText {
  /** Oldest first. */
  pending: readonly Interaction[]
  text: string
  interactionId?: string | undefined
  /** Counted from 0. */
  questionIndex?: number | undefined
}

/**
 * First by kind, then the oldest of that kind; naming an interaction leaves no choice. Throws where the text must
 * neither settle anything nor reach the agent.
 */
export function routeText({ pending, text, interactionId, questionIndex }: RoutedText): TextRoute {
  if (text.trim() === '') refuse('invalid_request', 'The text is empty.')
  if (interactionId !== undefined) {
    const named = pending.find((item) => item.interactionId === interactionId)
    if (!named) return refuse('not_found', `No interaction ${JSON.stringify(interactionId)} is pending here.`)
    return take(named, text, questionIndex) ?? refuse('nothing_pending', `This ${named.kind} takes no text.`)
  }
  // Who says which question is answered speaks of a question: such a text must not deny an approval.
  for (const kind of questionIndex === undefined ? kindOrder : ['question']) {
    for (const item of pending) {
      const route = item.kind === kind ? take(item, text, questionIndex) : null
      if (route) return route
    }
  }
  return questionIndex === undefined ? { to: 'nobody' } : refuse('nothing_pending', 'No question is pending.')
}

const kindOrder = ['approval', 'plan_review', 'question', 'form']

/** `null` if it takes no text. */
function take(item: Interaction, text: string, questionIndex: number | undefined): TextRoute | null {
  const { kind, interactionId } = item
  if (questionIndex !== undefined && kind !== 'question') {
    refuse('invalid_request', 'A `questionIndex` goes with a question only.')
  }
  switch (kind) {
    case 'approval':
      if (isBareYes(text))
        refuse('needs_decision', 'Replying here denies the request. To approve, press Approve.')
      return { to: 'answer', interactionId, answer: { decision: 'deny', message: text } }
    case 'plan_review':
      if (isBareYes(text))
        refuse(
          'needs_decision',
          'Replying here asks for changes to the plan. To approve it, use one of its buttons.',
        )
      return { to: 'answer', interactionId, answer: { decision: 'adjust', feedback: text } }
    case 'question':
      return answerQuestion(item, text, questionIndex)
    case 'form': {
      const field = singleTextField(formRequest.parse(item.request))
      return field === null ? null : { to: 'answer', interactionId, answer: { values: { [field]: text } } }
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
    refuse(
      'already_settled',
      `Question ${questionIndex + 1} has been answered; question ${current + 1} is next.`,
    )
  }
  if (questionIndex !== undefined && questionIndex !== current) {
    refuse(
      'invalid_request',
      `Question ${questionIndex + 1} is not asked yet; question ${current + 1} is next.`,
    )
  }
  const reply = readTextReply(request.questions[current]!, text)
  const answers = [...progress, reply].map((each, index) => checkReply(request, index, each))
  return answers.length < request.questions.length
    ? { to: 'progress', interactionId, answers }
    : { to: 'answer', interactionId, answer: { answers } }
}

function refuse(code: ErrorCode, message: string): never {
  throw new AskbackError(code, message)
}
