import type { Card } from '@askback/core'

export type Asked =
  | { control: string }
  | { text: string }
  /** Shows another of what waits. */
  | { next: true }
  /** The person leaves. */
  | { detach: true }

/** How the terminal asks for the next thing that a person does. */
export interface Asker {
  print(text: string): void
  /** `null` if `signal` aborts first. */
  ask(question: Question, signal: AbortSignal): Promise<Asked | null>
  stop(): void
}

export interface Question {
  /** What waits, and is answered next. */
  card: Card | null
  /** How many wait in all. */
  waiting: number
  /** Whether an agent reads a text that answers nothing; else it is a note in the log. */
  hasAgent: boolean
}
