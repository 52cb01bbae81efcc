import type { AgentContext, Clock } from '@askback/core'
import type { Interaction } from '@askback/protocol'
import { pause, INTERRUPT_MS } from '../session/asking.js'
import { isFreshPlan, openRequests, type Outcome } from '../session/outcome.js'
import { outcomesOf } from '../session/take-up.js'
import { isDeferred } from './transcript.js'

/** How a turn that was cut goes on: with the call that was put off, or with a message about what has come of its calls. */
type TakenUp = { by: 'call'; interaction: Interaction } | { by: 'message'; outcomes: Outcome[] }

/** Waits for what is pending in the turn. Aborting gives up, without a word to the model. */
export async function takeUp(
  context: AgentContext,
  resume: NonNullable<AgentContext['resume']>,
  { configFolder, clock, signal }: { configFolder: string | null; clock: Clock; signal: AbortSignal },
): Promise<TakenUp | null> {
  const open = openRequests(resume.state, resume.turnId)
  const [first] = open
  const isParked =
    first && open.length === 1 && (await isDeferred(configFolder, context.agentSessionId, first.toolCallId))
  if (isParked && !isFreshPlan(first)) return { by: 'call', interaction: first }
  const outcomes = await outcomesOf(context, resume, signal)
  if (outcomes.length === 0) return null
  // What was cancelled is often the first half of an interrupt, whose second half follows at once.
  const isCancelled = outcomes.some(({ interaction }) => interaction.settlement === 'cancelled')
  if (isCancelled) await pause(clock, INTERRUPT_MS, signal)
  signal.throwIfAborted()
  return { by: 'message', outcomes }
}
