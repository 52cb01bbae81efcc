import type { Call, Inspected, Reply } from './child-desk.js'
import { checkSession } from './crash-check.js'

export type Send = (call: Call) => Promise<Reply>

export interface Asked {
  key: string
  /** Known once the ask was acknowledged. */
  interactionId?: string
  /** Those that may still be the settlement. */
  answers: { key: string; acknowledged: boolean }[]
  /** The keys of all that were ever sent. */
  sent: string[]
  /** Somebody was told that it is settled. */
  settled: boolean
}

/** One session and those who ask and answer in it. Remembers what it sent and what was acknowledged, and nothing else. */
export class CrashClient {
  readonly sessionId: string
  readonly asked: Asked[] = []
  /** As many as the last check found. */
  pending = 0
  readonly #random: () => number
  #created = false

  constructor(sessionId: string, random: () => number) {
    this.sessionId = sessionId
    this.#random = random
  }

  /** Asks and answers until the process is gone. */
  async work(send: Send): Promise<void> {
    const { sessionId } = this
    this.#created = value(await send({ do: 'create', sessionId })) !== undefined
    for (;;) {
      const asked: Asked = {
        key: `${sessionId} asks ${this.asked.length}`,
        answers: [],
        sent: [],
        settled: false,
      }
      this.asked.push(asked)
      await this.#ask(send, asked)
      if (this.#random() < 0.2) continue
      const people = this.#random() < 0.3 ? ['one', 'another'] : ['one']
      asked.sent = people.map((person) => `${asked.key}: ${person}`)
      asked.answers = asked.sent.map((key) => ({ key, acknowledged: false }))
      await Promise.all(asked.answers.map((answer) => this.#answer(send, asked, answer)))
    }
  }

  /** Sends again, under the same keys, what the crash left open. */
  async finish(send: Send): Promise<void> {
    await send({ do: 'create', sessionId: this.sessionId })
    for (const asked of this.asked) {
      if (asked.interactionId === undefined) await this.#ask(send, asked)
      for (const answer of asked.answers) if (!answer.acknowledged) await this.#answer(send, asked, answer)
    }
  }

  /** What is wrong with what the store holds, in words. */
  async check(send: Send): Promise<string[]> {
    const inspected = value(await send({ do: 'inspect', sessionId: this.sessionId })) as Inspected
    this.pending = inspected.pending.length
    if (inspected.events.length === 0) return this.#created ? [`${this.sessionId} is lost`] : []
    return checkSession(this.sessionId, this.asked, inspected)
  }

  async #ask(send: Send, asked: Asked): Promise<void> {
    asked.interactionId = value(
      await send({ do: 'ask', sessionId: this.sessionId, key: asked.key }),
    ) as string
  }

  async #answer(send: Send, asked: Asked, answer: Asked['answers'][number]): Promise<void> {
    const interactionId = asked.interactionId!
    const reply = await send({ do: 'answer', sessionId: this.sessionId, interactionId, key: answer.key })
    if (reply.ok) answer.acknowledged = true
    // The other person was faster.
    else if (reply.code === 'already_settled')
      asked.answers = asked.answers.filter((other) => other !== answer)
    else value(reply)
    asked.settled = true
  }
}

function value(reply: Reply): unknown {
  if (reply.ok) return reply.value
  throw new Error(`${reply.code}: ${reply.message}`)
}
