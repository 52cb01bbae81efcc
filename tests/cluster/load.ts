import type { Interaction, Session } from '@askback/protocol'
import { setTimeout as delay } from 'node:timers/promises'
import type { RunningGateway } from '../e2e/http/gateways.js'

/** A question with its answer, as its clients know it. */
export interface SentQuestion {
  sessionId: string
  key: string
  interactionId?: string
  /** Whether the answer was acknowledged. */
  isAnswered?: true
  /** The answer that the waiter got. */
  received?: string
}

type Method = 'GET' | 'POST'
const MAX_CALL_MS = 4000
/** After so many questions a client continues in a new session. */
const QUESTIONS_PER_SESSION = 200

/** Clients that ask and answer at random gateways, and repeat each call under the same idempotency key until one succeeds. */
export class Load {
  readonly questions: SentQuestion[] = []
  /** Called for each session that was created. */
  onSession: (sessionId: string) => void = () => undefined
  /** Reads in which a gateway did not know an answer that it had acknowledged itself. */
  readonly forgotten: string[] = []
  readonly #gateways: () => RunningGateway[]
  readonly #random: () => number
  readonly #pauseMs: number
  readonly #sharing: number
  readonly #shared = new Map<number, Promise<string>>()
  #stopped = false

  /** `pauseMs` is the pause between two questions of a client. The first `sharing` clients use the same session. */
  constructor(
    gateways: () => RunningGateway[],
    random: () => number,
    { pauseMs = 0, sharing = 0 }: { pauseMs?: number; sharing?: number } = {},
  ) {
    this.#gateways = gateways
    this.#random = random
    this.#pauseMs = pauseMs
    this.#sharing = sharing
  }

  async run(clients: number): Promise<void> {
    await Promise.all(Array.from({ length: clients }, (_, index) => this.#client(index)))
  }

  stop(): void {
    this.#stopped = true
  }

  async #client(index: number): Promise<void> {
    let sessionId = ''
    for (let round = 0; !this.#stopped; round++) {
      if (round % QUESTIONS_PER_SESSION === 0) sessionId = await this.#sessionFor(index, round)
      await this.#ask({ sessionId, key: `${index}.${round}` })
      await delay(this.#pauseMs)
    }
  }

  async #sessionFor(index: number, round: number): Promise<string> {
    if (index >= this.#sharing) return this.#session(`session-${index}.${round}`)
    const session = this.#shared.get(round) ?? this.#session(`session-shared.${round}`)
    this.#shared.set(round, session)
    return session
  }

  async #session(key: string): Promise<string> {
    const { session } = await this.#send<{ session: Session }>(
      'POST',
      '/api/sessions',
      { agent: null },
      key,
      true,
    )
    this.onSession(session.id)
    return session.id
  }

  /** Even without reading the store, a gateway must know what it has acknowledged itself. */
  async #checkOwnAnswer(gateway: RunningGateway, path: string): Promise<void> {
    const options = { body: undefined, key: undefined, asAgent: false }
    const read = await attempt<{ interaction: Interaction }>(gateway, 'GET', `${path}?fresh=0`, options)
    if (read?.interaction.status === 'pending') this.forgotten.push(`${gateway.ready.url}${path}`)
  }

  async #ask(question: SentQuestion): Promise<void> {
    this.questions.push(question)
    const { sessionId, key } = question
    const path = `/api/sessions/${sessionId}/interactions`
    const questions = [{ header: 'h', question: key, options: [{ label: key }], multiSelect: false }]
    const request = { kind: 'question', request: { questions }, timeoutMs: null }
    const { interaction } = await this.#send<{ interaction: Interaction }>(
      'POST',
      path,
      request,
      `open-${key}`,
      true,
    )
    question.interactionId = interaction.interactionId
    const at = `${path}/${interaction.interactionId}`
    const waiting = this.#wait(at)
    await this.#send(
      'POST',
      `${at}/response`,
      { answer: { answers: [{ selected: [key] }] } },
      `answer-${key}`,
      false,
    )
    question.isAnswered = true
    question.received = await waiting
  }

  async #wait(at: string): Promise<string> {
    for (;;) {
      const { interaction } = await this.#send<{ interaction: Interaction }>(
        'GET',
        `${at}?wait=2`,
        undefined,
        undefined,
        true,
      )
      if (interaction.status === 'pending') continue
      const { answers } = interaction.answer as { answers: { selected: string[] }[] }
      return answers[0]?.selected[0] ?? ''
    }
  }

  async #send<Body>(
    method: Method,
    path: string,
    body: unknown,
    key: string | undefined,
    asAgent: boolean,
  ): Promise<Body> {
    for (;;) {
      const gateways = this.#gateways()
      const gateway = gateways[Math.floor(this.#random() * gateways.length)]
      const answer = gateway && (await attempt<Body>(gateway, method, path, { body, key, asAgent }))
      if (answer && path.endsWith('/response'))
        await this.#checkOwnAnswer(gateway, path.slice(0, -'/response'.length))
      if (answer) return answer
      await delay(50)
    }
  }
}

/** Returns `null` if the call should be repeated. */
async function attempt<Body>(
  gateway: RunningGateway,
  method: Method,
  path: string,
  { body, key, asAgent }: { body: unknown; key: string | undefined; asAgent: boolean },
): Promise<Body | null> {
  const { ready } = gateway
  let answer
  try {
    answer = await gateway.call<Body>(method, path, {
      as: asAgent ? ready.agentToken : ready.token,
      signal: AbortSignal.timeout(MAX_CALL_MS),
      ...(body !== undefined && { body }),
      ...(key !== undefined && { key }),
    })
  } catch {
    return null
  }
  if (answer.status < 300) return answer.body
  if (answer.status === 503 || answer.status === 500) return null
  throw new Error(`${method} ${path} got ${answer.status}: ${JSON.stringify(answer.body)}`)
}
