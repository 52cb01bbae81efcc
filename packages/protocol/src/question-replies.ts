import { AskbackError } from './errors.js'
import type { Json } from './json.js'
import type { Question, QuestionAnswer, QuestionReply, QuestionRequest } from './question.js'

/** A reply to one question, clean of what was left out; throws `invalid_answer` if it does not fit that question. */
export function checkReply(
  request: QuestionRequest,
  index: number,
  reply: QuestionReply,
): QuestionReply & Json {
  const { options, multiSelect } = questionAt(request, index)
  const { selected, other, note } = reply
  const refuse = (why: string) => refuseReply(request, index, why)

  for (const [place, label] of selected.entries()) {
    if (!options.some((option) => option.label === label)) refuse(`has no option ${JSON.stringify(label)}`)
    if (selected.indexOf(label) < place) refuse(`has the option ${JSON.stringify(label)} twice in its answer`)
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
 * The answers of `submit-answers`, on the server and in the client: the index of a question, counted from 0, to a label or a
 * text of one's own; where several may be chosen, an array of these, or a JSON array as a string.
 */
export function parseIndexedAnswers(
  request: QuestionRequest,
  answers: Record<string, unknown>,
): QuestionAnswer {
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
      return checkReply(request, index, indexedReply(request, index, value))
    }),
  }
}

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

function indexedReply(request: QuestionRequest, index: number, value: unknown): QuestionReply {
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
