import type { BoundHost, PersonCaller } from '@askback/core'
import { AGENT_LOST } from '@askback/core/internal'
import type { AskbackError } from '@askback/protocol'
import { respond } from './answers.js'
import type { LoggedSession } from './log-model.js'
import { send, type SessionCall } from './person.js'
import { LEASE_MS, type Process } from './process.js'
import { holds } from './violation.js'
import type { World } from './world.js'

const MAX_SESSIONS = 4
const BEAT_MS = 2000
const STEPS_PER_BEAT = 60

/** People who send messages to agents that the processes run. */
export class Hosts {
  readonly #world: World
  readonly #ids: string[] = []

  constructor(world: World) {
    this.#world = world
    for (let count = 0; count < world.plan.hosted; count++) this.#create()
  }

  get size(): number {
    return this.#ids.length
  }

  act(): void {
    const { random } = this.#world
    const id = random.pick(this.#ids)
    random.weighted<() => void>([
      [4, () => this.#message(id)],
      [8, () => respond(this.#world, id)],
      [1, () => this.#control(id, 'interrupt')],
      [0.5, () => this.#control(id, 'clear')],
      [0.5, () => this.#control(id, 'delete')],
      [1, () => this.#loseAgent()],
      [this.#ids.length < MAX_SESSIONS ? 0.5 : 0, () => this.#create()],
    ])()
  }

  /** Whether a turn is active in any session. */
  get isBusy(): boolean {
    return this.#ids.some((id) => (this.#world.model.sessions.get(id)?.activeTurnId ?? null) !== null)
  }

  /** No turn is left active, and at most one process runs each session. */
  checkAtRest(): void {
    const { model, live } = this.#world
    for (const id of this.#ids) {
      const session = model.sessions.get(id)
      const turn = session?.activeTurnId ?? null
      const runners = live.filter(({ agents }) => [...agents].some(({ sessionId }) => sessionId === id))
      const where = () => `${id} has the turn ${turn}, and is run by ${runners.length}`
      holds(turn === null, 'turns end', where)
      holds(runners.length <= 1, 'one runner', where)
      if (session) this.#checkMessages(session)
    }
  }

  /** Each message was given to an agent, or the log says why not. */
  #checkMessages({ id, agent, events }: LoggedSession): void {
    const { given } = this.#world.runs
    holds(agent === 'scripted', 'hosts', () => `${id} was created again by an agent that outlived it`)
    for (const event of events) {
      if (event.type !== 'user_message' || given.has(event.text)) continue
      const later = events.slice(event.seq)
      const isExplained = later.some(
        (one) =>
          (one.type === 'turn_ended' && one.turnId === event.turnId && one.reason !== 'done') ||
          (one.type === 'error' && one.code === AGENT_LOST),
      )
      holds(isExplained, 'messages', () => `${event.text} in ${id} was given to no agent`)
    }
  }

  /** Each session of a host gets its own id, and no id is used twice. */
  #create(): void {
    const id = `h${this.#ids.length + 1}`
    this.#ids.push(id)
    const idempotencyKey = id
    const session = { agent: 'scripted', cwd: '/w', permissionMode: 'default', id, idempotencyKey } as const
    this.#world.call(`create ${id}`, (desk) => desk.createSession(session), {
      done: () => {},
      refused: ({ code, message }) => {
        const isExpected = code === 'unavailable' || code === 'not_found'
        holds(isExpected, 'hosts', () => `${id} was not created: ${code} ${message}`)
      },
    })
  }

  #message(id: string, process?: Process): void {
    const text = this.#world.newId('go')
    const { sent, caller, call } = send(this.#world, id, { what: 'text', text })
    const input = { ...call, text, route: 'agent' } as const
    this.#call(sent.id, { caller, call }, `message to ${id}`, (host) => host.message(input), process)
  }

  #control(id: string, how: 'interrupt' | 'clear' | 'delete'): void {
    const { sent, caller, call } = send(this.#world, id, { what: 'cancel_all' })
    this.#call(sent.id, { caller, call }, `${how} ${id}`, async (host) => {
      if (how === 'interrupt') await host.interrupt(id, call)
      if (how === 'clear') await host.clear(id, call)
      if (how === 'delete') await host.deleteSession(id, call)
    })
  }

  /** Sends a call again until it is answered if it has an idempotency key, else only once. */
  #call(
    id: string,
    who: { caller: PersonCaller; call: SessionCall },
    name: string,
    work: (host: BoundHost<PersonCaller>) => Promise<unknown>,
    to?: Process,
  ): void {
    const { random, plan } = this.#world
    const again = () => {
      if (who.call.idempotencyKey !== undefined)
        this.#world.retry(`${id} ${name}`, () => this.#call(id, who, name, work))
    }
    const outcome = {
      // The command is durable, but the process has only started to act on it: a good moment for a crash.
      done: () => {
        if (plan.crashes > 0 && random.chance(0.1)) void this.#world.crash(process)
      },
      refused: ({ code, message }: AskbackError) => {
        const isExpected = code === 'unavailable' || code === 'not_found' || code === 'forbidden'
        holds(isExpected, 'hosts', () => `${name} was refused: ${code} ${message}`)
        if (code === 'unavailable') again()
      },
      lost: again,
    }
    const process = this.#world.call(name, (_, { host }) => work(host.as(who.caller)), outcome, to)
  }

  /** One process makes no progress until the others take over its sessions, and then continues where it was. */
  async freeze(): Promise<void> {
    const { random, live, clock } = this.#world
    const process = random.pick(live)
    process.frozen = true
    this.#world.note(`${process.name} freezes`)
    for (let ms = 0; ms < LEASE_MS; ms += BEAT_MS) {
      clock.advance(BEAT_MS)
      for (let steps = 0; steps < STEPS_PER_BEAT; steps++) {
        await this.#world.drain()
        if (this.#world.busy.length > 0) await this.#world.step()
      }
    }
    process.frozen = false
    this.#world.note(`${process.name} continues`)
    // It gets a message before it learns that it has lost its leases.
    if (process.alive) this.#message(random.pick(this.#ids), process)
  }

  #loseAgent(): void {
    const { random, live } = this.#world
    const agents = live.flatMap((process) => [...process.agents])
    if (agents.length === 0) return
    const agent = random.pick(agents)
    this.#world.note(`the agent of ${agent.sessionId} crashes`)
    agent.lose()
  }
}
