import {
  openInteraction,
  settleInteraction,
  type Interaction,
  type SessionEvent,
  type SessionState,
} from '@askback/protocol'
import type { Looked } from './lookups.js'

/** The interactions that these events settle, as they are before anyone has claimed them. */
export function settledBy(events: SessionEvent[], state: SessionState, extra: Looked): Interaction[] {
  const settled: Interaction[] = []
  for (const event of events) {
    if (event.type !== 'interaction_response') continue
    const { interactionId } = event
    const item = interactionIn(state, interactionId, extra) ?? openedBy(events, interactionId)
    if (item) settled.push(settleInteraction(item, event))
  }
  return settled
}

function openedBy(events: SessionEvent[], interactionId: string): Interaction | undefined {
  for (const event of events) {
    if (event.type === 'interaction_request' && event.interactionId === interactionId)
      return openInteraction(event)
  }
  return undefined
}

export function interactionIn(
  state: SessionState,
  interactionId: string,
  extra: Looked,
): Interaction | undefined {
  const { found } = extra
  return state.interactions.get(interactionId) ?? (found?.interactionId === interactionId ? found : undefined)
}
