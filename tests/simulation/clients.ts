import { createClient, HttpTransport, type Client } from '@askback/client'
import type { Origin } from '@askback/core'
import {
  emptyState,
  fold,
  pendingOf,
  stateFromJson,
  stateToJson,
  type Interaction,
  type Json,
  type SessionState,
} from '@askback/protocol'
import { toJson } from './log-facts.js'
import type { LoggedSession } from './log-model.js'
import { same } from './origin-rules.js'
import { send } from './person.js'
import { randomAnswer } from './requests.js'
import { simulatedFetch } from './requests-to-gateway.js'
import { checkRefusal } from './refusals.js'
import { checkTold } from './told.js'
import { holds } from './violation.js'
import type { World } from './world.js'

interface Person {
  name: string
  client: Client
  sessionId: string
  /** The snapshots that it got: what came before one is cut to a window, what comes after is not. */
  snapshots: { logId: string; seq: number }[]
  leave: (() => void)[]
}

const MOST = 3
const KEEP_ALL = { turnsKept: Number.POSITIVE_INFINITY }

/** People with the client's own stores: each looks at one session and at the inbox, and answers there. */
export class Clients {
  readonly #world: World
  readonly #people: Person[] = []
  /** Of the answers that are on their way, by interaction and person. */
  readonly #answers = new Map<string, Origin>()

  constructor(world: World) {
    this.#world = world
  }

  get size(): number {
    return this.#people.length
  }

  act(sessionId: string): void {
    const { random } = this.#world
    if (this.#people.length === 0) return this.#open(sessionId)
    const person = random.pick(this.#people)
    random.weighted<() => void>([
      [this.#people.length < MOST ? 2 : 0, () => this.#open(sessionId)],
      [5, () => this.#respond(person)],
      [2, () => person.client.reconnect()],
      [1, () => this.#close(person)],
    ])()
  }

  /** The network is back: nobody waits any longer. */
  reconnect(): void {
    for (const { client } of this.#people) client.reconnect()
  }

  close(): void {
    for (const { client } of this.#people) client.close()
  }

  /** What each one sees is the log; what waits in the inbox is what is pending. */
  checkAtRest(): void {
    const { model } = this.#world
    for (const person of this.#people) {
      const session = model.sessions.get(person.sessionId)
      if (session && !session.ended) this.#checkSession(person, session)
      const { items } = person.client.inbox.getSnapshot()
      const shown = (items ?? []).map(({ interactionId }) => interactionId).sort()
      const pending = [...model.sessions.values()].flatMap((log) => [...log.pending]).sort()
      const differs = () => `the inbox of ${person.name} has ${shown.join()}, not ${pending.join()}`
      holds(shown.join() === pending.join(), 'live equals replay', differs)
    }
  }

  #checkSession({ name, client, sessionId, snapshots }: Person, session: LoggedSession): void {
    const { state, connection, error } = client.session(sessionId).getSnapshot()
    const { logId, events } = session
    const where = () =>
      `${name} sees ${state?.logId}@${state?.seq} (${connection} ${error?.message}), not ${logId}@${events.length}`
    holds(state?.logId === logId && state.seq === events.length, 'live equals replay', where)
    const seen = shownOf(state)
    const from = new Set(snapshots.filter((one) => one.logId === logId).map(({ seq }) => seq))
    const replays = [...from].map((seq) => {
      const begun = stateFromJson(stateToJson(fold(emptyState(sessionId), events.slice(0, seq))))
      return shownOf(fold(begun, events.slice(seq), KEEP_ALL))
    })
    holds(
      replays.some((is) => same(seen, is)),
      'live equals replay',
      () => `${name} sees ${sessionId} as ${JSON.stringify(seen)}, not ${JSON.stringify(replays)}`,
    )
  }

  #open(sessionId: string): void {
    const { random, clock } = this.#world
    const name = this.#world.newId('person')
    const timing = { clock, random: () => random.next() }
    const fetch = simulatedFetch(this.#world, ({ interactionId }) => this.#answers.get(interactionId)!)
    const transport = new HttpTransport({
      ...timing,
      baseUrl: 'http://gateway',
      token: name,
      fetch: async (input, init) => {
        const response = await fetch(input, init)
        if (new URL(input).pathname === `/api/sessions/${sessionId}` && response.ok) {
          const { logId, seq } = (await response.clone().json()) as { logId: string; seq: number }
          person.snapshots.push({ logId, seq })
        }
        return response
      },
      newKey: () => this.#world.newId('key'),
    })
    const client = createClient(transport, {
      ...timing,
      schedule: (flush) => flush(),
      newKey: () => this.#world.newId('key'),
    })
    const person: Person = { name, client, sessionId, snapshots: [], leave: [] }
    this.#world.note(`${name} opens ${sessionId}`)
    person.leave.push(client.session(sessionId).subscribe(() => {}))
    person.leave.push(client.inbox.subscribe(() => {}))
    this.#people.push(person)
  }

  #close(person: Person): void {
    this.#world.note(`${person.name} leaves`)
    this.#people.splice(this.#people.indexOf(person), 1)
    for (const leave of person.leave) leave()
    person.client.close()
  }

  #respond({ name, client, sessionId }: Person): void {
    const { random, model } = this.#world
    const store = client.session(sessionId)
    const { state } = store.getSnapshot()
    const pending = state ? pendingOf(state) : []
    if (!state || pending.length === 0) return
    const { interactionId, kind, request } = random.pick(pending)
    if (this.#answers.has(interactionId)) return
    const { answer, fit } = randomAnswer(kind, request, { random, lasting: state.cwd !== null })
    const what = { what: 'answer', interactionId, answer, fit, digestFits: true } as const
    const { sent, origin } = send(this.#world, sessionId, what)
    this.#answers.set(interactionId, { ...origin, idempotencyKey: sent.id })
    this.#world.note(`${name} answers ${interactionId} with ${sent.id}`)
    void store.respond(interactionId, answer).then((outcome) =>
      this.#world.guard(() => {
        if (outcome.ok) checkTold(model, outcome.interaction)
        else checkRefusal(model, outcome.error, { sent, target: model.asked.get(interactionId), keyed: true })
      }),
    )
  }
}

/** Without what depends on the time of the snapshot. */
function shownOf(state: SessionState): Json {
  const timeless = ({ overdue: _, ...item }: Interaction) => item
  const { pending, interactions, ...json } = stateToJson(state)
  return toJson({ ...json, pending: pending.map(timeless), interactions: interactions.map(timeless) })
}
