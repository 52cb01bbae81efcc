import {
  answerOfPrompt,
  isOfKind,
  readTextReply,
  SINGLE_FIELD,
  type FormField,
  type FormRequest,
  type Interaction,
  type Json,
  type KindPrompt,
  type Question,
  type QuestionRequest,
} from '@askback/protocol'
import { usageError } from './arguments.js'

/** The arguments of `askback answer` that make up an answer. */
export interface AnswerArguments {
  words: string[]
  message?: string | undefined
  scope?: string | undefined
  updatedInput?: Json | undefined
}

/** Turns the words of a command line into an answer to this request. Whether it fits is checked by the gateway. */
export function readAnswer(interaction: Interaction, given: AnswerArguments): Json {
  if (isOfKind(interaction, 'question')) return { answers: readReplies(interaction.request, given.words) }
  if (isOfKind(interaction, 'approval')) return readApproval(given)
  if (isOfKind(interaction, 'plan_review')) return readPlanDecision(given)
  if (isOfKind(interaction, 'form')) return { values: readFormValues(interaction.request, given.words) }
  throw usageError(`An answer to ${interaction.kind} is JSON: --answer '{…}'.`)
}

/** The same for a kind that the gateway's settings define: `NAME=VALUE` words, or one word if the answer is a single value. */
export function readCustomAnswer(prompt: KindPrompt, words: string[]): Json {
  const [only = '', ...more] = words
  const { fields, single } = prompt
  if (single && (words.length === 0 || more.length > 0))
    throw usageError("It is answered with one word, or with JSON: --answer '{…}'.")
  const given = single ? [`${SINGLE_FIELD}=${only}`] : words
  const made = answerOfPrompt(prompt, readFormValues({ message: '', schema: { fields } }, given))
  if ('answer' in made) return made.answer
  const [[name, error] = ['', '']] = Object.entries(made.errors)
  throw usageError(`${name}: ${error}`)
}

type Reply = { selected: string[]; other?: string }

/** One word for each question. If there is only one question, all words are for it. */
function readReplies({ questions }: QuestionRequest, words: string[]): Reply[] {
  const [only] = questions
  if (only && questions.length === 1) return [readReply(only, words)]
  if (words.length === questions.length) {
    return questions.map((question, index) => readReply(question, words.slice(index, index + 1)))
  }
  throw usageError(`There are ${questions.length} questions: give one answer for each, in order.`)
}

/** Reads each word like a text on any other surface. */
function readReply(question: Question, words: string[]): Reply {
  const quoted = JSON.stringify(question.question)
  if (words.length === 0) throw usageError(`What is the answer to ${quoted}?`)
  if (words.length > 1 && !question.multiSelect) throw usageError(`${quoted} takes one answer.`)
  const read = words.map((word) => readTextReply(question, word))
  const selected = read.flatMap((each) => each.selected)
  const [other, ...more] = read.flatMap((each) => (each.other === undefined ? [] : [each.other]))
  if (more.length > 0) throw usageError('Only one answer may be none of the options.')
  return { selected, ...(other !== undefined && { other }) }
}

function readApproval({ words: [decision, ...more], message, scope, updatedInput }: AnswerArguments): Json {
  if ((decision !== 'approve' && decision !== 'deny') || more.length > 0) {
    throw usageError('An approval is answered with approve or deny.')
  }
  return {
    decision,
    ...(scope !== undefined && { scope }),
    ...(message !== undefined && { message }),
    ...(updatedInput !== undefined && { updatedInput }),
  }
}

function readPlanDecision({ words: [decision, ...more], message: feedback }: AnswerArguments): Json {
  const decisions = ['clean_edit', 'edit', 'default', 'adjust'] as const
  const known = decisions.find((each) => each === decision)
  if (known === 'adjust' && !feedback?.trim())
    throw usageError('Say what should change: askback answer ID adjust --message "TEXT".')
  if (known && more.length === 0) return { decision: known, ...(feedback !== undefined && { feedback }) }
  throw usageError('A plan is answered with clean_edit, edit, default, or adjust and --message.')
}

/** Reads `name=value` words. A name may be repeated if its field takes several values. */
function readFormValues({ schema }: FormRequest, words: string[]): Record<string, Json> {
  const all = schema.fields ?? schema.sections?.flatMap((section) => section.fields) ?? []
  const fields = new Map(all.map((field) => [field.name, field]))
  const values: Record<string, Json> = {}
  for (const word of words) {
    const [, name = '', text = ''] = /^([^=]+)=(.*)$/su.exec(word) ?? []
    const field = fields.get(name)
    if (!field)
      throw usageError(`A form is answered with NAME=VALUE; the names are ${[...fields.keys()].join(', ')}.`)
    const value = readValue(field, text)
    const earlier = values[name]
    values[name] = field.type === 'multiselect' ? [...(Array.isArray(earlier) ? earlier : []), value] : value
  }
  return values
}

/** Converts a text to the type of the field, if it can be read as that type. */
function readValue({ type, options = [] }: FormField, text: string): Json {
  const chosen = options.find(({ value }) => String(value) === text)
  if (chosen) return chosen.value
  if (type === 'number' && text.trim() !== '' && Number.isFinite(Number(text))) return Number(text)
  if ((type === 'boolean' || type === 'checkbox') && (text === 'true' || text === 'false'))
    return text === 'true'
  return text
}
