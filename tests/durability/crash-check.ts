import { emptyState, fold, pendingOf, type EventOf } from '@askback/protocol'
import type { Inspected } from './child-desk.js'
import type { Asked } from './crash-client.js'

/** Compares a log with what its clients sent and what they were told. Returns each contradiction in words. */
export function checkSession(sessionId: string, sent: Asked[], { events, pending }: Inspected): string[] {
  const problems: string[] = []
  const requests = events.filter((event) => event.type === 'interaction_request')
  const responses = events.filter((event) => event.type === 'interaction_response')

  const gap = events.findIndex((event, index) => event.seq !== index + 1)
  if (gap >= 0) problems.push(`${sessionId} has a gap before seq ${events[gap]!.seq}`)

  const folded = pendingOf(fold(emptyState(sessionId), events)).map((item) => item.interactionId)
  if (JSON.stringify(folded) !== JSON.stringify(pending)) {
    problems.push(`${sessionId}: the pending index says ${pending.join()}, the fold ${folded.join()}`)
  }

  for (const asked of sent) {
    const found = requests.filter((request) => questionOf(request) === asked.key)
    if (found.length > 1) problems.push(`"${asked.key}" is there ${found.length} times`)
    if (asked.interactionId !== undefined && found[0]?.interactionId !== asked.interactionId) {
      problems.push(`"${asked.key}" was acknowledged and is lost`)
    }
    const settled = responses.filter((response) => response.interactionId === found[0]?.interactionId)
    if (asked.settled && settled.length === 0) problems.push(`"${asked.key}" is no longer settled`)
    if (settled.length > 1) problems.push(`"${asked.key}" is settled ${settled.length} times`)
    for (const { key, acknowledged } of asked.answers) {
      if (acknowledged && answerOf(settled[0]) !== key) problems.push(`"${key}" was acknowledged and is lost`)
    }
  }

  for (const request of requests) {
    if (!sent.some(({ key }) => key === questionOf(request)))
      problems.push(`"${questionOf(request)}" was never asked`)
  }
  for (const response of responses) {
    const { interactionId } = response
    const question = questionOf(requests.find((request) => request.interactionId === interactionId))
    const asked = sent.find(({ key }) => key === question)
    if (!asked?.sent.includes(answerOf(response)))
      problems.push(`nobody sent the answer "${answerOf(response)}"`)
  }
  return problems
}

function questionOf(request: EventOf<'interaction_request'> | undefined): string {
  const { questions } = (request?.request ?? { questions: [] }) as { questions: { question: string }[] }
  return questions[0]?.question ?? ''
}

function answerOf(response: EventOf<'interaction_response'> | undefined): string {
  const { answers } = (response?.answer ?? { answers: [] }) as { answers: { other?: string }[] }
  return answers[0]?.other ?? ''
}
