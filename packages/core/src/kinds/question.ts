import {
  AskbackError,
  checkReply,
  questionAnswer,
  questionRequest,
  type QuestionAnswer,
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

function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`
}
