import type { Interaction, Session } from '@askback/protocol'
import { setTimeout as delay } from 'node:timers/promises'
import type { RunningGateway } from '../e2e/http/gateways.js'

/** What one asker and one person did, and what they were told. */
export interface Asked {
  sessionId: string
  key: string
  interactionId?: string
  /** That the answer was taken. */
  answered?: true
  /** What came back to whoever waited. */
  received?: string
}

type Method = 'GET' | 'POST'
const LONGEST_CALL_MS = 4000
/** Then a client goes on in a new session. */
const ASKED_IN_SESSION = 200

/** Askers and people that use whichever gateway answers, and try again with the same key until one does. */
export class Load {
  readonly asked: Asked[] = []
  /** Sessions that were made, as soon as they are. */
  onSession: (sessionId: string) => void = () => undefined
  /** Gateways that did not see what they had acknowledged. */
  readonly forgotten: string[] = []
  readonly #gateways: () => RunningGateway[]
  readonly #random: () => number
  readonly #pauseMs: number
  readonly #sharing: number
  readonly #shared = new Map<number, Promise<string>>()
  #stopped = false

  /** `pauseMs` between two questions of one client; of the clients the first `sharing` use the same session. */
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
      if (round % ASKED_IN_SESSION === 0) sessionId = await this.#sessionFor(index, round)
      await this.#ask({ sessionId, key: `${index}.${round}` })
      await delay(this.#pauseMs)
    }
  }

  async #sessionFor(index: number, round: number): Promise<string> {
    if (index >= this.#sharing) return this.#session(`session-${index}.${round}`)
    const made = this.#shared.get(round) ?? this.#session(`session-shared.${round}`)
    this.#shared.set(round, made)
    return made
  }

  async #session(key: string): Promise<string> {
    const made = await this.#send<{ session: Session }>('POST', '/api/sessions', { agent: null }, key, true)
    this.onSession(made.session.id)
    return made.session.id
  }

  /** Also without a look at the store, a gateway knows what it has acknowledged itself. */
  async #checkKnown(gateway: RunningGateway, path: string): Promise<void> {
    const options = { body: undefined, key: undefined, asAgent: false }
    const read = await attempt<{ interaction: Interaction }>(gateway, 'GET', `${path}?fresh=0`, options)
    if (read?.interaction.status === 'pending') this.forgotten.push(`${gateway.ready.url}${path}`)
  }

  async #ask(asked: Asked): Promise<void> {
    this.asked.push(asked)
    const { sessionId, key } = asked
    const path = `/api/sessions/${sessionId}/interactions`
    const questions = [{ header: 'h', question: key, options: [{ label: key }], multiSelect: false }]
    const opening = { kind: 'question', request: { questions }, timeoutMs: null }
    const { interaction } = await this.#send<{ interaction: Interaction }>(
      'POST',
      path,
      opening,
      `open-${key}`,
      true,
    )
    asked.interactionId = interaction.interactionId
    const at = `${path}/${interaction.interactionId}`
    const waiting = this.#wait(at)
    await this.#send(
      'POST',
      `${at}/response`,
      { answer: { answers: [{ selected: [key] }] } },
      `answer-${key}`,
      false,
    )
    asked.answered = true
    asked.received = await waiting
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
        await this.#checkKnown(gateway, path.slice(0, -'/response'.length))
      if (answer) return answer
      await delay(50)
    }
  }
}

/** `null` if it is to be tried again. */
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
      signal: AbortSignal.timeout(LONGEST_CALL_MS),
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
