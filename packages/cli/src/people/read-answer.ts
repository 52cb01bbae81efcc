import {
  readTextReply,
  type ApprovalAnswer,
  type FormField,
  type FormRequest,
  type Interaction,
  type Json,
  type PlanReviewAnswer,
  type Question,
  type QuestionReply,
  type QuestionRequest,
} from '@askback/protocol'
import { usageError } from '../usage.js'

export interface Said {
  words: string[]
  message?: string | undefined
  scope?: string | undefined
  updatedInput?: Json | undefined
}

/** What the words of a command line mean as an answer to this request. The gateway checks whether it fits. */
export function readAnswer(item: Interaction, said: Said): Json {
  switch (item.kind) {
    case 'question':
      return { answers: replies(item.request as QuestionRequest, said.words) as Json }
    case 'approval':
      return approval(said) as Json
    case 'plan_review':
      return plan(said) as Json
    case 'form':
      return { values: formValues(item.request as FormRequest, said.words) }
    default:
      throw usageError(`An answer to ${item.kind} is JSON: --answer '{…}'.`)
  }
}

/** One word for each question; if there is just one that takes several, all words are for it. */
function replies({ questions }: QuestionRequest, words: string[]): QuestionReply[] {
  const [only] = questions
  if (only && questions.length === 1) return [reply(only, words)]
  if (words.length === questions.length) {
    return questions.map((question, index) => reply(question, words.slice(index, index + 1)))
  }
  throw usageError(`There are ${questions.length} questions: give one answer for each, in order.`)
}

/** Each word is read as a text would be on any other surface. */
function reply(question: Question, words: string[]): QuestionReply {
  const quoted = JSON.stringify(question.question)
  if (words.length === 0) throw usageError(`What is the answer to ${quoted}?`)
  if (words.length > 1 && !question.multiSelect) throw usageError(`${quoted} takes one answer.`)
  const read = words.map((word) => readTextReply(question, word))
  const selected = read.flatMap((each) => each.selected)
  const [other, ...more] = read.flatMap((each) => (each.other === undefined ? [] : [each.other]))
  if (more.length > 0) throw usageError('Only one answer may be none of the options.')
  return { selected, ...(other !== undefined && { other }) }
}

function approval({ words: [decision, ...more], message, scope, updatedInput }: Said): ApprovalAnswer {
  if ((decision !== 'approve' && decision !== 'deny') || more.length > 0) {
    throw usageError('An approval is answered with approve or deny.')
  }
  return {
    decision,
    ...(scope !== undefined && { scope: scope as 'once' }),
    ...(message !== undefined && { message }),
    ...(updatedInput !== undefined && { updatedInput }),
  }
}

function plan({ words: [decision, ...more], message: feedback }: Said): PlanReviewAnswer {
  const decisions = ['clean_edit', 'edit', 'default', 'adjust'] as const
  const known = decisions.find((each) => each === decision)
  if (known === 'adjust' && !feedback?.trim())
    throw usageError('Say what should change: askback answer ID adjust --message "TEXT".')
  if (known && more.length === 0) return { decision: known, ...(feedback !== undefined && { feedback }) }
  throw usageError('A plan is answered with clean_edit, edit, default, or adjust and --message.')
}

/** `name=value`, several times where a field takes several. */
function formValues({ schema }: FormRequest, words: string[]): Record<string, Json> {
  const all = schema.fields ?? schema.sections?.flatMap((section) => section.fields) ?? []
  const fields = new Map(all.map((field) => [field.name, field]))
  const values: Record<string, Json> = {}
  for (const word of words) {
    const [, name = '', text = ''] = /^([^=]+)=(.*)$/su.exec(word) ?? []
    const field = fields.get(name)
    if (!field)
      throw usageError(`A form is answered with NAME=VALUE; the names are ${[...fields.keys()].join(', ')}.`)
    const value = valueOf(field, text)
    values[name] = field.type === 'multiselect' ? [...((values[name] as Json[]) ?? []), value] : value
  }
  return values
}

/** Of the type that the field takes, where the text can be read so. */
function valueOf({ type, options = [] }: FormField, text: string): Json {
  const chosen = options.find(({ value }) => String(value) === text)
  if (chosen) return chosen.value
  if (type === 'number' && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text)
  if ((type === 'boolean' || type === 'checkbox') && (text === 'true' || text === 'false'))
    return text === 'true'
  return text
}
