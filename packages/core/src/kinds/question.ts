import {
  AskbackError,
  checkReply,
  questionAnswer,
  questionRequest,
  type Json,
  type QuestionAnswer,
  type QuestionReply,
  type QuestionRequest,
} from '@askback/protocol'
import { defineInteraction } from './kinds.js'

export const questionKind = defineInteraction<QuestionRequest, QuestionAnswer>({
  kind: 'question',
  presentation: 'questionnaire',
  request: questionRequest,
  answer: questionAnswer,
  plain: true,
  settle(request, { answers }) {
    const { length } = request.questions
    if (answers.length !== length) {
      throw new AskbackError(
        'invalid_answer',
        `The request has ${count(length, 'question')}, the answer has ${count(answers.length, 'entry', 'entries')}.`,
        { details: { question: Math.min(answers.length, length) } },
      )
    }
    return {
      settlement: 'answered',
      answer: { answers: answers.map((reply, index) => checkReply(request, index, reply)) },
    }
  },
})

/** Returns the replies in the last `interaction_progress` event, one per question in order. */
export function progressOf(progress: Json | undefined): QuestionReply[] {
  const parsed = questionAnswer.safeParse({ answers: progress })
  return parsed.success ? parsed.data.answers : []
}

/** The index of the first question that has no reply yet. */
export function currentQuestion(request: QuestionRequest, progress: readonly QuestionReply[]): number {
  return Math.min(progress.length, request.questions.length)
}

function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`
}
