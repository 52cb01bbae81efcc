import type { TextCard } from '../cards/card.js'

/** The id of the control that shows the next page of a card. */
export const SHOW_MORE = 'more'

/** How the terminal gets the next thing that a person does: with keys, or line by line. */
export interface TerminalInput {
  print(text: string): void
  /** Resolves to `null` if `signal` aborts first, or if nothing was entered after all. */
  read(prompt: InputPrompt, signal: AbortSignal): Promise<PersonInput | null>
  stop(): void
}

export interface InputPrompt {
  /** The card that is answered next. */
  card: TextCard | null
  /** The number of all open cards. */
  openCards: number
  /** Whether an agent reads a text that answers nothing. If not, such a text is a note in the log. */
  hasAgent: boolean
}

export type PersonInput =
  | { control: string }
  | { text: string }
  /** Shows the next open card. */
  | { next: true }
  /** Ends the program. */
  | { detach: true }

/** False for a kind that the gateway does not have any more: it can only be read. */
export function isAnswerable({ controls, asks }: TextCard): boolean {
  return controls.length > 0 || asks !== null
}

/** Says what happens to a text that answers nothing. */
export function textDestination(hasAgent: boolean): string {
  return hasAgent ? 'A text goes to the agent' : 'A text is only a note; no agent reads it'
}
