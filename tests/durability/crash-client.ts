import { emptyState, fold, pendingOf, type EventOf } from '@askback/protocol'
import type { DeskCall, DeskReply, SessionContents } from './child-desk.js'

export type Send = (call: DeskCall) => Promise<DeskReply>

/** A question as its client knows it. */
interface SentQuestion {
  key: string
  /** Known once the question was acknowledged. */
  interactionId?: string
  /** Answers that may still be the settlement. */
  answers: { key: string; acknowledged: boolean }[]
  /** The keys of all answers that were ever sent. */
  sentAnswers: string[]
  /** Whether a reply said that it is settled. */
  isSettled: boolean
}

/** The agent and the people of one session. It records what it sent and what was acknowledged. */
export class CrashClient {
  readonly sessionId: string
  readonly questions: SentQuestion[] = []
  /** The number of pending interactions at the last check. */
  pending = 0
  readonly #random: () => number
  #isCreated = false

  constructor(sessionId: string, random: () => number) {
    this.sessionId = sessionId
    this.#random = random
  }

  /** Asks and answers until the process ends. */
  async work(send: Send): Promise<void> {
    const { sessionId } = this
    this.#isCreated = valueOf(await send({ do: 'create', sessionId })) !== undefined
    for (;;) {
      const question: SentQuestion = {
        key: `${sessionId} asks ${this.questions.length}`,
        answers: [],
        sentAnswers: [],
        isSettled: false,
      }
      this.questions.push(question)
      await this.#ask(send, question)
      if (this.#random() < 0.2) continue
      const people = this.#random() < 0.3 ? ['one', 'another'] : ['one']
      question.sentAnswers = people.map((person) => `${question.key}: ${person}`)
      question.answers = question.sentAnswers.map((key) => ({ key, acknowledged: false }))
      await Promise.all(question.answers.map((answer) => this.#answer(send, question, answer)))
    }
  }

  /** Repeats, under the same idempotency keys, what was not acknowledged before the crash. */
  async finish(send: Send): Promise<void> {
    await send({ do: 'create', sessionId: this.sessionId })
    for (const question of this.questions) {
      if (question.interactionId === undefined) await this.#ask(send, question)
      for (const answer of question.answers)
        if (!answer.acknowledged) await this.#answer(send, question, answer)
    }
  }

  /** Returns a sentence for each contradiction between the store and what was acknowledged. */
  async check(send: Send): Promise<string[]> {
    const contents = valueOf(await send({ do: 'inspect', sessionId: this.sessionId })) as SessionContents
    this.pending = contents.pending.length
    if (contents.events.length === 0) return this.#isCreated ? [`${this.sessionId} is lost`] : []
    return checkSession(this.sessionId, this.questions, contents)
  }

  async #ask(send: Send, question: SentQuestion): Promise<void> {
    question.interactionId = valueOf(
      await send({ do: 'ask', sessionId: this.sessionId, key: question.key }),
    ) as string
  }

  async #answer(send: Send, question: SentQuestion, answer: SentQuestion['answers'][number]): Promise<void> {
    const interactionId = question.interactionId!
    const reply = await send({ do: 'answer', sessionId: this.sessionId, interactionId, key: answer.key })
    if (reply.ok) answer.acknowledged = true
    // The other person answered first.
    else if (reply.code === 'already_settled')
      question.answers = question.answers.filter((other) => other !== answer)
    else valueOf(reply)
    question.isSettled = true
  }
}

function valueOf(reply: DeskReply): unknown {
  if (reply.ok) return reply.value
  throw new Error(`${reply.code}: ${reply.message}`)
}

/** Compares a log with what was sent and acknowledged. Returns a sentence for each contradiction. */
function checkSession(
  sessionId: string,
  sent: SentQuestion[],
  { events, pending }: SessionContents,
): string[] {
  const problems: string[] = []
  const requests = events.filter((event) => event.type === 'interaction_request')
  const responses = events.filter((event) => event.type === 'interaction_response')

  const gap = events.findIndex((event, index) => event.seq !== index + 1)
  if (gap >= 0) problems.push(`${sessionId} has a gap before seq ${events[gap]!.seq}`)

  const folded = pendingOf(fold(emptyState(sessionId), events)).map((item) => item.interactionId)
  if (JSON.stringify(folded) !== JSON.stringify(pending)) {
    problems.push(`${sessionId}: the pending index says ${pending.join()}, the fold ${folded.join()}`)
  }

  for (const question of sent) {
    const found = requests.filter((request) => questionOf(request) === question.key)
    if (found.length > 1) problems.push(`"${question.key}" is there ${found.length} times`)
    if (question.interactionId !== undefined && found[0]?.interactionId !== question.interactionId) {
      problems.push(`"${question.key}" was acknowledged and is lost`)
    }
    const settled = responses.filter((response) => response.interactionId === found[0]?.interactionId)
    if (question.isSettled && settled.length === 0) problems.push(`"${question.key}" is no longer settled`)
    if (settled.length > 1) problems.push(`"${question.key}" is settled ${settled.length} times`)
    for (const { key, acknowledged } of question.answers) {
      if (acknowledged && answerOf(settled[0]) !== key) problems.push(`"${key}" was acknowledged and is lost`)
    }
  }

  for (const request of requests) {
    if (!sent.some(({ key }) => key === questionOf(request)))
      problems.push(`"${questionOf(request)}" was never asked`)
  }
  for (const response of responses) {
    const { interactionId } = response
    const text = questionOf(requests.find((request) => request.interactionId === interactionId))
    const question = sent.find(({ key }) => key === text)
    if (!question?.sentAnswers.includes(answerOf(response)))
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
