import type { AgentContext, Clock } from '@askback/core'
import type { Interaction } from '@askback/protocol'
import { pause, INTERRUPT_MS } from '../session/asking.js'
import { isFreshPlan, openRequests, outcomeOf, type Outcome } from '../session/outcome.js'
import { isDeferred } from './transcript.js'

/** How a turn that was cut goes on: with the call that was put off, or with a message about what has come of its calls. */
type TakenUp = { by: 'call'; interaction: Interaction } | { by: 'message'; outcomes: Outcome[] }

/** Waits for what is pending in the turn. Aborting gives up, without a word to the model. */
export async function takeUp(
  { session, agentSessionId }: AgentContext,
  { turnId, state }: NonNullable<AgentContext['resume']>,
  { configFolder, clock, signal }: { configFolder: string | null; clock: Clock; signal: AbortSignal },
): Promise<TakenUp | null> {
  const open = openRequests(state, turnId)
  const [first] = open
  if (!first) return null
  const isParked = open.length === 1 && (await isDeferred(configFolder, agentSessionId, first.toolCallId))
  if (isParked && !isFreshPlan(first)) return { by: 'call', interaction: first }
  const outcomes = await Promise.all(open.map((item) => outcomeOf(session, item, signal)))
  // What was cancelled is often the first half of an interrupt, whose second half follows at once.
  const isCancelled = outcomes.some(({ interaction }) => interaction.settlement === 'cancelled')
  if (isCancelled) await pause(clock, INTERRUPT_MS, signal)
  signal.throwIfAborted()
  return { by: 'message', outcomes }
}
