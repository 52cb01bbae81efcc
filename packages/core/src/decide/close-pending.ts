import {
  pendingOf,
  type Actor,
  type Interaction,
  type NewEvent,
  type SessionState,
  type Via,
} from '@askback/protocol'
import type { KvWrite } from '../store/store.js'
import type { Context, Decision } from './command.js'
import { settlement } from './interaction-events.js'
import { expired, lapse } from './settle.js'

export type Part = Pick<Decision, 'events' | 'kv'>

/** Cancels what is pending and meant (L7, L8). What is past its deadline settles as that says, and no other way (L4). */
export function cancelAll(
  state: SessionState,
  how: { by?: Actor | undefined; via?: Via | undefined; message: string },
  context: Context,
  isMeant: (item: Interaction) => boolean = () => true,
): Part {
  const parts: Part[] = []
  for (const item of pendingOf(state)) {
    if (!isMeant(item)) continue
    parts.push(
      expired(item, context.now)
        ? lapse(state, item, context)
        : { events: settlement(item, { settlement: 'cancelled', ...how }, context) },
    )
  }
  return together(...parts)
}

/** What leads to one append. */
export function together(...parts: Part[]): Part {
  const events: NewEvent[] = []
  const kv: KvWrite[] = []
  for (const part of parts) {
    for (const event of part.events) events.push(event)
    for (const write of part.kv ?? []) kv.push(write)
  }
  return { events, ...(kv.length > 0 && { kv }) }
}
