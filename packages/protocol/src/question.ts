import * as z from 'zod'
import { AskbackError } from './errors.js'
import type { Json } from './json.js'

const option = z.object({
  label: z.string().refine((label) => label.trim() !== '', 'must not be empty'),
  description: z.string().optional(),
  preview: z.string().optional(),
})

const question = z.object({
  header: z.string().optional(),
  question: z.string().refine((text) => text.trim() !== '', 'must not be empty'),
  options: z
    .array(option)
    .max(8, 'must have at most 8 options')
    .superRefine((options, context) => {
      for (let index = 1; index < options.length; index++) {
        const { label } = options[index]!
        // Answers name options by label, so a label must say which one is meant.
        if (options.findIndex((other) => other.label === label) === index) continue
        context.addIssue({
          code: 'custom',
          path: [index, 'label'],
          message: `repeats the label ${JSON.stringify(label)}`,
        })
      }
    }),
  multiSelect: z.boolean().optional(),
})

/** One to four questions. */
export const questionRequest = z.object({
  questions: z
    .array(question)
    .min(1, 'must have at least 1 question')
    .max(4, 'must have at most 4 questions'),
})

/** `selected` are labels of options; `other` is a text of the person's own, `note` a remark beside the answer. */
export const questionReply = z.strictObject({
  selected: z.array(z.string()),
  other: z.string().optional(),
  note: z.string().optional(),
})

/** One reply per question, in the order of the questions. */
export const questionAnswer = z.strictObject({ answers: z.array(questionReply) })

/** One question with its options. */
export type Question = z.infer<typeof question>
export type QuestionRequest = z.infer<typeof questionRequest>
export type QuestionReply = z.infer<typeof questionReply>
export type QuestionAnswer = z.infer<typeof questionAnswer>

/**
 * Checks a reply to the question at `index`, and returns it without properties that are `undefined`. Throws
 * `invalid_answer`, with the question in the message and in `details.question`, if the reply does not fit.
 */
export function checkReply(
  request: QuestionRequest,
  index: number,
  reply: QuestionReply,
): QuestionReply & Json {
  const { options, multiSelect } = questionAt(request, index)
  const { selected, other, note } = reply
  const refuse = (why: string) => refuseReply(request, index, why)

  for (const [position, label] of selected.entries()) {
    if (!options.some((option) => option.label === label)) refuse(`has no option ${JSON.stringify(label)}`)
    if (selected.indexOf(label) < position)
      refuse(`has the option ${JSON.stringify(label)} twice in its answer`)
  }
  if (other !== undefined && other.trim() === '') refuse('has an empty text as its answer')
  if (selected.length === 0 && other === undefined) {
    refuse(options.length > 0 ? 'needs an option or a text of your own' : 'needs a text')
  }
  if (!multiSelect && selected.length > 1) refuse(`takes one option, not ${selected.length}`)
  if (!multiSelect && selected.length === 1 && other !== undefined) {
    refuse('takes either one option or a text of your own, not both')
  }
  const clean: QuestionReply & Json = { selected: [...selected] }
  if (other !== undefined) clean.other = other
  if (note !== undefined) clean.note = note
  return clean
}

/**
 * The replies in an answer, or in the progress of a question that was answered in part (`interaction_progress`), which is
 * the list of replies alone. Returns an empty list for anything else.
 */
export function repliesIn(answer: Json | undefined): QuestionReply[] {
  const parsed = questionAnswer.safeParse(Array.isArray(answer) ? { answers: answer } : answer)
  return parsed.success ? parsed.data.answers : []
}

/**
 * Reads the answers of `submit-answers`, for the gateway and for the client: a map from the index of each question, counted
 * from 0, to a label or a text of the person's own. For a question that takes several options the value is an array of
 * these, or a JSON array as a string. Throws `invalid_answer` if an index is unknown, an answer missing or one does not fit.
 *
 * @example
 * parseIndexedAnswers(request, { 0: 'SQLite', 1: '["c", "a text of my own"]' })
 */
export function parseIndexedAnswers(
  request: QuestionRequest,
  answers: Record<string, unknown>,
): QuestionAnswer & Json {
  const { questions } = request
  for (const key of Object.keys(answers)) {
    const index = Number(key)
    if (String(index) !== key || !Number.isInteger(index) || index < 0 || index >= questions.length) {
      throw new AskbackError(
        'invalid_answer',
        `There is no question ${JSON.stringify(key)}; the last is "${questions.length - 1}".`,
        {
          details: { question: key },
        },
      )
    }
  }
  return {
    answers: questions.map((_, index) => {
      const value = Object.hasOwn(answers, String(index)) ? answers[String(index)] : undefined
      return checkReply(request, index, replyFromValue(request, index, value))
    }),
  }
}

/**
 * Reads a typed line as a reply. In this order it is a label in any case, the number of an option counted from 1, or a text
 * of the person's own. Labels may contain commas, so a comma only separates if the question takes several options and every
 * part is one.
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

/** An exact label wins over one that differs in white space, and that over one that differs in case. */
function optionFor({ options }: Question, text: string): string | undefined {
  if (text === '') return undefined
  const isSame = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()
  const labels = options.map((option) => option.label)
  const label =
    labels.find((each) => each === text) ??
    labels.find((each) => each.trim() === text) ??
    labels.find((each) => isSame(each.trim(), text))
  return label ?? (/^\d{1,9}$/.test(text) ? labels[Number(text) - 1] : undefined)
}

function replyFromValue(request: QuestionRequest, index: number, value: unknown): QuestionReply {
  const { options, multiSelect } = questionAt(request, index)
  const labels = new Set(options.map((option) => option.label))
  if (value === undefined) refuseReply(request, index, 'has no answer')
  if (!multiSelect) {
    if (typeof value !== 'string') return refuseReply(request, index, 'takes a label or a text, as a string')
    return labels.has(value) ? { selected: [value] } : { selected: [], other: value }
  }
  const entries = typeof value === 'string' ? parseArray(value) : value
  if (!isStrings(entries))
    return refuseReply(request, index, 'takes several: a JSON array of labels, as a string or an array')
  const own = entries.filter((entry) => !labels.has(entry))
  if (own.length > 1)
    refuseReply(request, index, `takes one text of your own, not ${own.length}: ${own.map(quote).join(', ')}`)
  return {
    selected: entries.filter((entry) => labels.has(entry)),
    ...(own[0] !== undefined && { other: own[0] }),
  }
}

function parseArray(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string')
}

function questionAt(request: QuestionRequest, index: number): Question {
  const question = request.questions[index]
  if (!question)
    throw new AskbackError('invalid_answer', `There is no question ${index + 1}.`, {
      details: { question: index },
    })
  return question
}

function refuseReply(request: QuestionRequest, index: number, why: string): never {
  const { header, question } = questionAt(request, index)
  throw new AskbackError(
    'invalid_answer',
    `Question ${index + 1} (${quote(header || question)}, index ${index}) ${why}.`,
    {
      details: { question: index },
    },
  )
}

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)
}
