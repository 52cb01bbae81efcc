import {
  AskbackError,
  type Interaction,
  type Json,
  type Question,
  type QuestionReply,
} from '@askback/protocol'
import type { Choice, ChooseOptions, TypedQuestion } from './askback.js'
import { answeredAs, missingAnswer, type AskedRequest, type ReadAnswer } from './asked-request.js'

type ReadReply<Value> = (reply: QuestionReply, interaction: Interaction) => ReadAnswer<Value>

/** One question, whose only reply is the answer. */
function questionRequest<Value>(
  question: TypedQuestion,
  { header, defaultReply }: { header?: string | undefined; defaultReply?: QuestionReply | undefined },
  read: ReadReply<Value>,
): AskedRequest<Value> {
  return {
    kind: 'question',
    request: { questions: [wireQuestion({ ...question, ...(header !== undefined && { header }) })] },
    ...(defaultReply && { defaultAnswer: { answers: [wireReply(defaultReply)] } }),
    read: (interaction) => read(repliesOf(interaction)[0]!, interaction),
  }
}

/** Several questions; the value is the list of their replies. */
export function questionsRequest(questions: readonly TypedQuestion[]): AskedRequest<QuestionReply[]> {
  if (!Array.isArray(questions)) throw refuse('The questions must be a list.')
  return {
    kind: 'question',
    request: { questions: questions.map(wireQuestion) },
    read: (interaction) => ({ value: repliesOf(interaction) }),
  }
}

export function chooseRequest(
  question: string,
  choices: readonly Choice<string>[],
  { header, defaultAnswer, allowOther }: ChooseOptions<string> & { allowOther?: boolean },
): AskedRequest<string | { other: string }> {
  checkChoices(choices)
  const defaultReply = defaultAnswer === undefined ? undefined : { selected: [defaultAnswer] }
  return questionRequest<string | { other: string }>(
    { question, choices },
    { header, defaultReply },
    ({ selected: [label], other = '' }, interaction) => {
      if (label !== undefined) return { value: label }
      return allowOther ? { value: { other } } : missingAnswer('other_text', interaction, other)
    },
  )
}

export function chooseManyRequest(
  question: string,
  choices: readonly Choice<string>[],
  { header, defaultAnswer, allowOther }: ChooseOptions<readonly string[]> & { allowOther?: boolean },
): AskedRequest<string[] | { selected: string[]; other?: string }> {
  checkChoices(choices)
  const defaultReply = defaultAnswer === undefined ? undefined : { selected: [...defaultAnswer] }
  return questionRequest<string[] | { selected: string[]; other?: string }>(
    { question, choices, multiple: true },
    { header, defaultReply },
    ({ selected, other }, interaction) => {
      if (allowOther) return { value: { selected, ...(other !== undefined && { other }) } }
      return other === undefined ? { value: selected } : missingAnswer('other_text', interaction, other)
    },
  )
}

export function textRequest(
  question: string,
  { header, defaultAnswer }: ChooseOptions<string>,
): AskedRequest<string> {
  const defaultReply = defaultAnswer === undefined ? undefined : { selected: [], other: defaultAnswer }
  return questionRequest({ question }, { header, defaultReply }, ({ other = '' }) => ({ value: other }))
}

/** A question without options would be one for a text, whose answer is no label. */
function checkChoices(choices: readonly Choice<string>[]): void {
  if (Array.isArray(choices) && choices.length > 0) return
  throw refuse('There is nothing to choose from: pass at least one option, or use askText.')
}

function wireQuestion({ question, header, choices = [], multiple = false }: TypedQuestion): Question & Json {
  const options = choices.map((choice) => (typeof choice === 'string' ? { label: choice } : { ...choice }))
  return { question, options, multiSelect: multiple, ...(header !== undefined && { header }) }
}

function wireReply({ selected, other }: QuestionReply): Json {
  return { selected, ...(other !== undefined && { other }) }
}

function repliesOf(interaction: Interaction): QuestionReply[] {
  return answeredAs(interaction, 'question').answer.answers
}

function refuse(message: string): AskbackError {
  return new AskbackError('invalid_request', message)
}
