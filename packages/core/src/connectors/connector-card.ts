import type { Interaction, Json } from '@askback/protocol'

/** What a surface shows of an interaction, one thing at a time. Every text of it is spelled out already. */
export interface CardBody {
  /** In our words. */
  title: string
  parts: Part[]
  controls: Control[]
  /** What a text would do, where one is waited for. */
  asks: string | null
}

/** `quote`: what the agent says; `code`: every character matters; `markdown`: a plan. */
export interface Part {
  as: 'quote' | 'code' | 'markdown' | 'note'
  text: string
  label?: string
}

export interface Control {
  /** Short, and of no meaning beyond its card. */
  id: string
  label: string
  role: 'option' | 'approve' | 'deny' | 'more'
  /** Of several that can be chosen together. */
  checked?: boolean
}

export interface Card extends CardBody {
  /** Short enough for a button. */
  cardId: string
  sessionId: string
  interactionId: string
  kind: string
  /** Which session asks, where a person may have several. */
  from: string
  expiresAt?: number
}

export interface ClosedCard {
  card: Card
  /** How it came out and by whom, as one or two sentences. */
  outcome: string
  settlement: Interaction['settlement'] | 'step'
}

/** What a person has done on one surface that is no answer yet. */
export interface CardView {
  /** Chosen so far, where several can be: the labels of a question, the controls of a form. */
  picked: string[]
  /** A text is waited for, from this person. */
  asking: { what: Asking; by: string } | null
  /** The fields of a form so far, in the order they were asked, and who gave them; `null` for one that was left out. */
  values: { name: string; value: Json; by: string }[]
}

export type Asking = 'other' | 'reason' | 'feedback'

export const freshView: CardView = { picked: [], asking: null, values: [] }

export type CardInput = { tap: string; by: string } | { text: string; by: string }

/** What an input does. */
export type CardStep =
  /** The card looks different now. */
  | { do: 'show'; view: CardView; told: string }
  | { do: 'answer'; answer: Json }
  /** More is asked. */
  | { do: 'progress'; answers: Json[] }
  /** Nothing changes, and the person is told why. */
  | { do: 'refuse'; told: string }
  /** A text that the rules of text routing decide on. */
  | { do: 'route' }

/** How one kind is asked where one thing is shown at a time: pure, and the same on every surface. */
export interface CardFlow {
  /** Counts what was answered: a card of an earlier step is out of date. */
  step(item: Interaction, view: CardView): number
  body(item: Interaction, view: CardView): CardBody
  take(item: Interaction, view: CardView, input: CardInput): CardStep
  /** What the settlement alone does not say, to stand right after it. */
  how?(item: Interaction): string
  /** What was said to a step, or to all of it. */
  said(item: Interaction, view: CardView, step?: number): string
}

export const stale: CardStep = { do: 'refuse', told: 'This button no longer works.' }
export const back: Control = { id: 'back', label: 'Back', role: 'more' }
