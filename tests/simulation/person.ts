import type { PersonCaller } from '@askback/core'
import type { LoggedInteraction } from './log-model.js'
import type { Sent, SentByPerson } from './sent.js'
import type { World } from './world.js'

/** What every call to a session has. */
export interface SessionCall {
  sessionId: string
  idempotencyKey?: string
}

interface SentCall {
  sent: Sent
  caller: PersonCaller
  call: SessionCall
}

/** Registers what a person sends. The actor's name is unique per sent item, so that the log shows which one had an effect. */
export function send(world: World, sessionId: string, what: SentByPerson): SentCall {
  const { random, model } = world
  const id = world.newId('say')
  const sent: Sent = { id, sessionId, ...what }
  model.sent.set(id, sent)
  const by = { id: random.pick(['ann', 'bob']), name: id }
  const call = { sessionId, ...(random.chance(0.5) && { idempotencyKey: id }) }
  return { sent, call, caller: { by, via: 'web' } }
}

/** Picks an interaction for a person to act on: mostly a pending one, sometimes one that was settled long ago. */
export function target({ random, model }: World, sessionId: string): LoggedInteraction | undefined {
  const session = model.sessions.get(sessionId)
  if (!session || session.interactions.length === 0) return undefined
  const pending = [...session.pending]
  if (pending.length > 0 && random.chance(0.8)) return model.interactions.get(random.pick(pending))
  return random.pick(session.interactions)
}
