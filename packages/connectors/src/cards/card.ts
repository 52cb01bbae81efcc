import { spellOut, spellOutLine, type Interaction, type Json, type KindPromptResult } from '@askback/protocol'

/**
 * What a card says and offers, without the fields that identify it. Every text in it is spelled out already: hidden and
 * control characters are visible, so a surface may print it as it is.
 */
export interface CardBody {
  /** In Askback's words, on one line. */
  title: string
  parts: CardPart[]
  controls: CardControl[]
  /** What a text would do, if the card waits for one; else `null`. */
  asks: string | null
}

/** A block of a card. `quote` is what the agent says; in `code` every character matters; `markdown` is a plan. */
export interface CardPart {
  as: 'quote' | 'code' | 'markdown' | 'note'
  text: string
  label?: string
}

/** A button, or a numbered choice, of a card. */
export interface CardControl {
  /** Short, and unique within its card only. */
  id: string
  label: string
  role: 'option' | 'approve' | 'deny' | 'more'
  /** Set on choices of which several can be selected together. */
  checked?: boolean
}

/** One interaction as text with controls, for a surface that shows one thing at a time. */
export interface TextCard extends CardBody {
  /** Short enough to fit into the data of a button. */
  cardId: string
  sessionId: string
  interactionId: string
  kind: string
  /** The name of the session that asks. */
  from: string
  /** In milliseconds since 1970, by the server's clock. */
  expiresAt?: number
}

/** A card that can no longer be answered. */
export interface ClosedCard {
  card: TextCard
  /** How it ended and who ended it, in one or two sentences. */
  outcome: string
  /** `step` if only this question or field is done, and the interaction itself is still pending. */
  settlement: Interaction['settlement'] | 'step'
}

/** What people have done on one surface that is not an answer yet. It is stored with the card, so it survives a restart. */
export interface CardView {
  /** What is selected so far, where several can be: labels of a question's options, or control ids of a form's field. */
  picked: string[]
  /** The card waits for a text of this person. */
  asking: { what: TextPurpose; by: string } | null
  /** The values of a form so far in the order of its fields, and who gave them; `null` for a field that was left out. */
  values: { name: string; value: Json; by: string }[]
}

type TextPurpose = 'other' | 'reason' | 'feedback'

export const EMPTY_VIEW: CardView = { picked: [], asking: null, values: [] }

/** A control that a person used, or a text that they sent; `by` is the person's id. */
export type CardInput = { tap: string; by: string } | { text: string; by: string }

/** What an input leads to. */
export type CardAction =
  /** The card changes, and `message` confirms it. */
  | { do: 'show'; view: CardView; message: string }
  | { do: 'answer'; answer: Json }
  /** These questions are answered, and more follow. */
  | { do: 'progress'; answers: Json[] }
  /** Nothing changes, and `message` says why. */
  | { do: 'refuse'; message: string }
  /** A text for which the card did not ask: the desk's text routing decides what it means. */
  | { do: 'route' }

/** An interaction, with the form for its answer if it is of a custom kind. */
export interface CardInteraction extends Interaction {
  /** Missing for built-in kinds. */
  prompt?: KindPromptResult
}

/** How one kind of interaction is shown and answered, one thing at a time. Pure, and the same on every surface. */
export interface CardKind {
  /** How many questions or fields are done. A card that was drawn at a lower step is out of date. */
  stepOf(interaction: CardInteraction, view: CardView): number
  bodyOf(interaction: CardInteraction, view: CardView): CardBody
  handleInput(interaction: CardInteraction, view: CardView, input: CardInput): CardAction
  /** Continues a word such as "Approved" with what the settlement does not say, such as " for this session". */
  settlementDetail?(interaction: Interaction): string
  /** The answer to one step, or to all of them if no step is given. */
  answerText(interaction: CardInteraction, view: CardView, step?: number): string
}

export const OUTDATED_CONTROL: CardAction = { do: 'refuse', message: 'This button no longer works.' }
export const BACK: CardControl = { id: 'back', label: 'Back', role: 'more' }

export function prose(text: string): string {
  return spellOut(text, 'prose')
}

export function oneLine(text: string): string {
  return spellOutLine(text, 'prose')
}
