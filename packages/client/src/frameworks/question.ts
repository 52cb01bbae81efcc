import { AskbackError, isRecord } from '@askback/protocol'
import type { AskbackSession, AskingOptions } from '../asking/askback.js'
import type { AskOutcome } from '../asking/asked.js'

/** A question as a model or a graph asks it. */
export interface AskedQuestion {
  question: string
  /** Up to eight. People can always write a text of their own. Without them the question asks for a text. */
  choices?: readonly string[] | undefined
}

/** The question in what a framework passes on: a text, or an object with `question` and maybe `choices` or `options`. */
export function questionIn(value: unknown): AskedQuestion | null {
  if (typeof value === 'string') return value.trim() === '' ? null : { question: value }
  if (!isRecord(value) || typeof value.question !== 'string') return null
  const choices = value.choices ?? value.options
  if (choices === undefined) return { question: value.question }
  const isListOfTexts = Array.isArray(choices) && choices.every((choice) => typeof choice === 'string')
  return isListOfTexts ? { question: value.question, choices } : null
}

/** Resolves with the chosen label or the text that the person wrote. */
export async function askQuestion(
  session: AskbackSession,
  { question, choices = [] }: AskedQuestion,
  options: AskingOptions,
): Promise<AskOutcome<string>> {
  if (choices.length === 0) return session.askText(question, options).outcome()
  const outcome = await session.choose(question, choices, { ...options, allowOther: true }).outcome()
  if (!outcome.ok) return outcome
  return { ...outcome, value: typeof outcome.value === 'string' ? outcome.value : outcome.value.other }
}

export function unknownQuestion(where: string): AskbackError {
  return new AskbackError(
    'invalid_request',
    `${where} asks in a form that is not known. It can be a text or { question, choices? }; for others pass \`answer\`.`,
  )
}
