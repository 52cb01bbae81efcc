import { postgresStore } from '@askback/store-postgres'
import { emptyState, fold, pendingOf, type SessionEvent } from '@askback/protocol'
import type { Asked } from './load.js'

/** Compares the logs with what was sent and told. Returns each contradiction in words. */
export async function contradictions(url: string, asked: Asked[]): Promise<string[]> {
  const store = await postgresStore({ url })
  const problems: string[] = []
  try {
    const sessions = (await store.sessions({ limit: Infinity })).items
    const logs = new Map<string, SessionEvent[]>()
    for (const { id } of sessions) {
      const events = await store.read({ sessionId: id, limit: Infinity })
      logs.set(id, events)
      const gap = events.findIndex((event, index) => event.seq !== index + 1)
      if (gap >= 0) problems.push(`${id} has a gap before seq ${events[gap]!.seq}`)
      const pending = (await store.pending({ sessionId: id, limit: Infinity })).items
      const folded = pendingOf(fold(emptyState(id), events)).map((item) => item.interactionId)
      if (pending.map((item) => item.interactionId).join() !== folded.join())
        problems.push(`${id}: the index of what is pending is not what its log says`)
    }
    const changes = await store.changes({ limit: Infinity })
    const told = changes.reduce((sum, { events }) => sum + events.length, 0)
    const held = [...logs.values()].reduce((sum, events) => sum + events.length, 0)
    if (told !== held) problems.push(`the changes hold ${told} events, the logs ${held}`)
    for (const one of asked) problems.push(...about(one, logs.get(one.sessionId) ?? []))
  } finally {
    await store.close()
  }
  return problems
}

function about(asked: Asked, events: SessionEvent[]): string[] {
  const { key, interactionId, answered, received } = asked
  const requests = events.filter((event) => event.type === 'interaction_request' && questionOf(event) === key)
  const ids = requests.map((event) => (event.type === 'interaction_request' ? event.interactionId : ''))
  const responses = events.filter(
    (event) => event.type === 'interaction_response' && ids.includes(event.interactionId),
  )
  const delivered = events.filter(
    (event) => event.type === 'interaction_delivered' && ids.includes(event.interactionId),
  )
  return [
    requests.length > 1 && `${key} was opened ${requests.length} times`,
    interactionId !== undefined && ids[0] !== interactionId && `${key} was acknowledged and is lost`,
    responses.length > 1 && `${key} has ${responses.length} responses`,
    answered && responses.length === 0 && `the answer to ${key} was acknowledged and is lost`,
    received !== undefined && received !== key && `who waited for ${key} got ${received}`,
    delivered.length > 1 && `${key} was handed over ${delivered.length} times`,
  ].filter((problem) => typeof problem === 'string')
}

function questionOf(event: Extract<SessionEvent, { type: 'interaction_request' }>): string | undefined {
  return (event.request as { questions: { question: string }[] }).questions[0]?.question
}
