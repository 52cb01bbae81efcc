import { postgresStore } from '@askback/store-postgres'
import { emptyState, fold, pendingOf, type SessionEvent } from '@askback/protocol'
import type { SentQuestion } from './load.js'

/** Compares the logs with what was sent and acknowledged. Returns a sentence for each contradiction. */
export async function findContradictions(url: string, questions: SentQuestion[]): Promise<string[]> {
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
        problems.push(`${id}: the index of pending interactions contradicts its log`)
    }
    const changes = await store.changes({ limit: Infinity })
    const inChanges = changes.reduce((sum, { events }) => sum + events.length, 0)
    const inLogs = [...logs.values()].reduce((sum, events) => sum + events.length, 0)
    if (inChanges !== inLogs) problems.push(`the changes have ${inChanges} events, the logs ${inLogs}`)
    for (const question of questions)
      problems.push(...checkQuestion(question, logs.get(question.sessionId) ?? []))
  } finally {
    await store.close()
  }
  return problems
}

function checkQuestion(question: SentQuestion, events: SessionEvent[]): string[] {
  const { key, interactionId, isAnswered, received } = question
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
    isAnswered && responses.length === 0 && `the answer to ${key} was acknowledged and is lost`,
    received !== undefined && received !== key && `the waiter for ${key} got ${received}`,
    delivered.length > 1 && `${key} was claimed ${delivered.length} times`,
  ].filter((problem) => typeof problem === 'string')
}

function questionOf(event: Extract<SessionEvent, { type: 'interaction_request' }>): string | undefined {
  return (event.request as { questions: { question: string }[] }).questions[0]?.question
}
