import {
  AskbackError,
  checkReply,
  questionAnswer,
  questionRequest,
  type Json,
  type Question,
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

/**
 * What a typed line means as a reply: a label in any case, before a number counted from 1, before a text of one's own.
 * A comma only divides where several may be chosen and every part is an option, as labels may hold commas themselves.
 */
export function readTextReply(question: Question, text: string): QuestionReply {
  const trimmed = text.trim()
  const one = optionFor(question, trimmed)
  if (one !== undefined) return { selected: [one] }
  if (question.multiSelect && trimmed.includes(',')) {
    const chosen = trimmed.split(',').map((part) => optionFor(question, part.trim()))
    if (chosen.every((label) => label !== undefined)) return { selected: [...new Set(chosen)] }
  }
  return { selected: [], other: trimmed }
}

/** The replies that `interaction_progress` has kept so far, one per question in order. */
export function progressOf(progress: Json | undefined): QuestionReply[] {
  const parsed = questionAnswer.safeParse({ answers: progress })
  return parsed.success ? parsed.data.answers : []
}

/** The index of the first question that has no reply yet. */
export function currentQuestion(request: QuestionRequest, progress: readonly QuestionReply[]): number {
  return Math.min(progress.length, request.questions.length)
}

function optionFor({ options }: Question, text: string): string | undefined {
  if (text === '') return undefined
  const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()
  const labels = options.map((option) => option.label)
  const label =
    labels.find((it) => it === text) ??
    labels.find((it) => it.trim() === text) ??
    labels.find((it) => same(it.trim(), text))
  return label ?? (/^\d{1,9}$/.test(text) ? labels[Number(text) - 1] : undefined)
}

function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`
}
