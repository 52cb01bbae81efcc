import {
  AskbackError,
  canonicalJson,
  copyJson,
  interaction as interactionSchema,
  type Interaction,
  type Json,
} from '@askback/protocol'
import type { Settled } from './transport.js'

/** L3: whoever finds their own answer in the refusal has been heard, though they never got to know. */
export function ownAnswer(error: unknown, answer: Json): Settled | null {
  const winner = winnerOf(error)
  if (winner?.answer === undefined) return null
  const isOwn = canonicalJson(winner.answer) === canonicalJson(copyJson(answer))
  return isOwn ? { interaction: winner, events: [] } : null
}

/** How an interaction that was settled already came out. */
function winnerOf(error: unknown): Interaction | null {
  return error instanceof AskbackError && error.code === 'already_settled' ? interactionIn(error) : null
}

/** What an error shows: the winner, or what was asked anew. */
export function interactionIn({ details }: AskbackError): Interaction | null {
  const shown =
    typeof details === 'object' && details !== null && 'interaction' in details && details.interaction
  const parsed = interactionSchema.safeParse(shown)
  return parsed.success ? parsed.data : null
}
