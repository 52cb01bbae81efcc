import type { AgentContext } from '@askback/core'
import type { Interaction } from '@askback/protocol'
import { openRequests, outcomeOf, type Outcome } from './outcome.js'

/** Waits for what a cut turn has asked, of its agent or of a script in its shell, until each is settled. */
export async function outcomesOf(
  { session }: AgentContext,
  { turnId, state }: NonNullable<AgentContext['resume']>,
  signal: AbortSignal,
): Promise<Outcome[]> {
  const own = openRequests(state, turnId)
  const ofScripts = scriptRequests(state, turnId)
  return Promise.all([
    ...own.map((item) => outcomeOf(session, item, signal)),
    ...ofScripts.map(async (item) => cutScript(await session.watch(item.interactionId, signal))),
  ])
}

/** A script went down with the shell that ran it: nobody but the model is left to hear the answer. */
function scriptRequests(state: NonNullable<AgentContext['resume']>['state'], turnId: string): Interaction[] {
  const calls = new Map(state.toolCalls.map((call) => [call.toolCallId, call]))
  return [...state.interactions, ...state.pending].filter(({ toolCallId, openedBy, settlement }) => {
    const call = calls.get(toolCallId)
    return (
      openedBy !== undefined &&
      call !== undefined &&
      call.result === undefined &&
      call.turnId === turnId &&
      settlement !== 'superseded'
    )
  })
}

function cutScript(interaction: Interaction): Outcome {
  const { settlement, answer, message, request } = interaction
  const said = answer === undefined ? (message ?? '') : JSON.stringify(answer)
  const told = `A command of yours was cut while it asked the user ${JSON.stringify(request)}. It was settled as ${settlement}: ${said}`
  return { interaction, told, isError: true }
}
