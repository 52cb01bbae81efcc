import { createClient, HttpTransport, type Client } from '@askback/client'
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
import { simulatedFetch, type FindOrigin } from './requests-to-gateway.js'
import { checkRefusal } from './refusals.js'
import { checkReturned } from './interaction-rules.js'
import { holds } from './violation.js'
import type { World } from './world.js'

interface Person {
  name: string
  client: Client
  sessionId: string
  /** The snapshots that it got. Turns before a snapshot are cut to a window; later ones are all in the state. */
  snapshots: { logId: string; seq: number }[]
  leave: (() => void)[]
}

const MAX_PEOPLE = 3
/** Probability of checking a change: comparing the whole state is slow. */
const CHECK_PROBABILITY = 0.1
const KEEP_ALL = { turnsKept: Number.POSITIVE_INFINITY }

/** People who use the stores of the client package: each has one session and the inbox open, and answers there. */
export class Clients {
  readonly #world: World
  readonly #people: Person[] = []
  readonly #answered: (sessionId: string) => void
  /** The origins of the answers in progress, by interaction id. */
  readonly #answers = new Map<string, ReturnType<FindOrigin>>()

  /** `answered` is called after each accepted answer. */
  constructor(world: World, answered: (sessionId: string) => void) {
    this.#world = world
    this.#answered = answered
  }

  get size(): number {
    return this.#people.length
  }

  act(sessionId: string): void {
    const { random } = this.#world
    if (this.#people.length === 0) return this.#open(sessionId)
    const person = random.pick(this.#people)
    random.weighted<() => void>([
      [this.#people.length < MAX_PEOPLE ? 2 : 0, () => this.#open(sessionId)],
      [8, () => this.#respond(person)],
      [2, () => person.client.reconnect()],
      [0.5, () => this.#close(person)],
    ])()
  }

  /** The network works again: all clients reconnect without waiting for their backoff. */
  reconnect(): void {
    for (const { client } of this.#people) client.reconnect()
  }

  close(): void {
    for (const { client } of this.#people) client.close()
  }

  /** The state of each client is that of the log, and each inbox shows exactly the pending interactions. */
  checkAtRest(): void {
    const { model, live } = this.#world
    const hasMissedDoorbell = (id: string) => live.some(({ missedDoorbells }) => missedDoorbells.has(id))
    for (const person of this.#people) {
      const session = model.sessions.get(person.sessionId)
      if (session && !session.ended && !hasMissedDoorbell(session.id)) this.#checkSession(person, session)
      if (live.some(({ missedDoorbells }) => missedDoorbells.size > 0)) continue
      const { items } = person.client.inbox.getSnapshot()
      const shown = (items ?? []).map(({ interactionId }) => interactionId).sort()
      const pending = [...model.sessions.values()].flatMap((log) => [...log.pending]).sort()
      const differs = () => `the inbox of ${person.name} has ${shown.join()}, not ${pending.join()}`
      holds(shown.join() === pending.join(), 'live equals replay', differs)
    }
  }

  #checkSession(person: Person, { logId, events }: LoggedSession): void {
    const { name, client, sessionId } = person
    const { state, connection, error } = client.session(sessionId).getSnapshot()
    const where = () =>
      `${name} sees ${state?.logId}@${state?.seq} (${connection} ${error?.message}), not ${logId}@${events.length}`
    holds(state?.logId === logId && state.seq === events.length, 'live equals replay', where)
    this.#checkShown(person)
  }

  /** At any moment a client shows the state of the log that it names, up to the `seq` that it names. */
  #checkShown({ name, client, sessionId, snapshots }: Person): void {
    const { state } = client.session(sessionId).getSnapshot()
    if (!state) return
    const { logId, seq: end } = state
    const events = this.#world.model.logs.get(logId)?.events ?? []
    holds(end <= events.length, 'durable first', () => `${name} sees ${logId}@${end} of ${events.length}`)
    const seen = shownOf(state)
    const from = new Set(
      snapshots.filter((one) => one.logId === logId && one.seq <= end).map(({ seq }) => seq),
    )
    const replays = [...from].map((seq) => {
      const begun = stateFromJson(stateToJson(fold(emptyState(sessionId), events.slice(0, seq))))
      return shownOf(fold(begun, events.slice(seq, end), KEEP_ALL))
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
    const changed = () => {
      if (random.chance(CHECK_PROBABILITY)) this.#world.guard(() => this.#checkShown(person))
    }
    person.leave.push(client.session(sessionId).subscribe(changed))
    person.leave.push(client.inbox.subscribe(() => {}))
    this.#people.push(person)
  }

  #close(person: Person): void {
    this.#world.note(`${person.name} leaves`)
    this.#checkShown(person)
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
    const { sent, caller } = send(this.#world, sessionId, what)
    this.#answers.set(interactionId, { caller, idempotencyKey: sent.id })
    this.#world.note(`${name} answers ${interactionId} with ${sent.id}`)
    void store.respond(interactionId, answer).then((outcome) =>
      this.#world.guard(() => {
        if (outcome.ok) {
          checkReturned(model, outcome.interaction)
          if (this.#world.live.length > 0) this.#answered(sessionId)
        } else
          checkRefusal(model, outcome.error, {
            sent,
            target: model.interactions.get(interactionId),
            keyed: true,
          })
      }),
    )
  }
}

/** The state without `overdue`, which depends on the time of the snapshot. */
function shownOf(state: SessionState): Json {
  const timeless = ({ overdue: _, ...item }: Interaction) => item
  const { pending, interactions, ...json } = stateToJson(state)
  return toJson({ ...json, pending: pending.map(timeless), interactions: interactions.map(timeless) })
}
