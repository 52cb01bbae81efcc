import { AskbackError } from '@askback/protocol'
import type { CardStep } from './connector-card.js'

/** What does not fit is told to the person; nothing changes. */
export function refusalOf(step: () => CardStep): CardStep {
  try {
    return step()
  } catch (error) {
    if (error instanceof AskbackError) return { do: 'refuse', told: error.message }
    throw error
  }
}
