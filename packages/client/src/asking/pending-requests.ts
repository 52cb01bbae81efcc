import { openInteraction, type Interaction } from '@askback/protocol'
import type { AskingPort } from './asking-port.js'

/**
 * Everything that is pending, and then what comes, each request once. Changes are not sent again after a lost connection, so the inbox
 * is read each time the connection is live.
 */
export async function* pendingRequests(
  port: AskingPort,
  signal: AbortSignal,
): AsyncGenerator<Interaction, undefined> {
  const seen = new Set<string>()
  for await (const item of port.changes(signal)) {
    if (item.type === 'connection' && item.status === 'live') {
      for await (const pending of inbox(port, signal)) if (isNew(pending, seen)) yield pending
    } else if (item.type === 'event' && item.event.type === 'interaction_request') {
      const pending = openInteraction(item.event)
      if (isNew(pending, seen)) yield pending
    } else if (item.type === 'event' && item.event.type === 'interaction_response') {
      seen.delete(item.event.interactionId)
    }
  }
}

async function* inbox(port: AskingPort, signal: AbortSignal): AsyncGenerator<Interaction> {
  let after: string | null = null
  do {
    const page = await port.inbox(after, signal)
    yield* page.interactions
    after = page.next
  } while (after !== null)
}

function isNew({ interactionId }: Interaction, seen: Set<string>): boolean {
  if (seen.has(interactionId)) return false
  seen.add(interactionId)
  return true
}
