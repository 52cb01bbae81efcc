import type { Host } from '@askback/core'
import { respond } from './answers.js'
import { send } from './person.js'
import { LEASE_MS, type Process } from './process.js'
import { holds } from './violation.js'
import type { World } from './world.js'

const MOST = 4
const BEAT_MS = 2000
const STEPS_PER_BEAT = 60

/** People who talk to agents that the processes run. */
export class Hosts {
  readonly #world: World
  readonly #ids: string[] = []
  /** The processes that took a message for each session, with the name that they had then. */
  readonly #takers = new Map<string, { process: Process; gatewayId: string | null }[]>()

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
      [this.#ids.length < MOST ? 0.5 : 0, () => this.#create()],
    ])()
  }

  /** Whether a turn goes on somewhere. */
  get isBusy(): boolean {
    return this.#ids.some((id) => (this.#world.model.sessions.get(id)?.activeTurnId ?? null) !== null)
  }

  /**
   * A process that dies between a message and telling the one that runs the agent leaves a turn that nobody takes up, and so
   * does one that does not know yet that it was taken over: whoever sees nothing happen writes again.
   */
  writeAgain(): void {
    for (const id of this.#ids) {
      const takers = this.#takers.get(id) ?? []
      const isLeft = takers.some(
        ({ process, gatewayId }) => !process.alive || process.gatewayId !== gatewayId,
      )
      if (isLeft && (this.#world.model.sessions.get(id)?.activeTurnId ?? null) !== null) this.#message(id)
    }
  }

  /** No turn goes on that nobody runs, and nobody runs what another process runs. */
  checkAtRest(): void {
    const { model, live } = this.#world
    for (const id of this.#ids) {
      const session = model.sessions.get(id)
      const turn = session?.activeTurnId ?? null
      const runners = live.filter(({ agents }) => [...agents].some(({ sessionId }) => sessionId === id))
      const where = () => `${id} has the turn ${turn}, and is run by ${runners.length}`
      holds(turn === null, 'turns end', where)
      holds(runners.length <= 1, 'one runner', where)
    }
  }

  /** A host gives each session an id of its own: none is made anew. */
  #create(): void {
    const id = `h${this.#ids.length + 1}`
    this.#ids.push(id)
    const idempotencyKey = id
    const session = { agent: 'scripted', cwd: '/w', permissionMode: 'default', id, idempotencyKey } as const
    this.#world.call(`create ${id}`, (desk) => desk.createSession(session), {
      done: () => {},
      refused: ({ code, message }) => {
        const isExpected = code === 'unavailable' || code === 'not_found'
        holds(isExpected, 'hosts', () => `${id} was not made: ${code} ${message}`)
      },
    })
  }

  #message(id: string): void {
    const { origin } = send(this.#world, id, { what: 'text', text: 'Go.' })
    const input = { ...origin, text: 'Go.', route: 'agent' } as const
    const process = this.#call(id, `message to ${id}`, (host) => host.message(input))
    const { gatewayId } = process
    this.#takers.set(id, [...(this.#takers.get(id) ?? []), { process, gatewayId }])
  }

  #control(id: string, how: 'interrupt' | 'clear' | 'delete'): void {
    const { origin } = send(this.#world, id, { what: 'cancel_all' })
    this.#call(id, `${how} ${id}`, async (host) => {
      if (how === 'interrupt') await host.interrupt(id, origin)
      if (how === 'clear') await host.clear(id, origin)
      if (how === 'delete') await host.deleteSession(id, origin)
    })
  }

  #call(id: string, name: string, work: (host: Host) => Promise<unknown>): Process {
    return this.#world.call(name, (_, { host }) => work(host), {
      done: () => {},
      refused: ({ code, message }) => {
        const isExpected = code === 'unavailable' || code === 'not_found' || code === 'forbidden'
        holds(isExpected, 'hosts', () => `${name} was refused in ${id}: ${code} ${message}`)
      },
    })
  }

  /** One process stands still until the others take over what it runs, and goes on as if nothing had happened. */
  async freeze(): Promise<void> {
    const { random, live, clock } = this.#world
    const process = random.pick(live)
    process.frozen = true
    this.#world.note(`${process.name} stands still`)
    for (let ms = 0; ms < LEASE_MS; ms += BEAT_MS) {
      clock.advance(BEAT_MS)
      for (let steps = 0; steps < STEPS_PER_BEAT; steps++) {
        await this.#world.drain()
        if (this.#world.busy.length > 0) await this.#world.step()
      }
    }
    process.frozen = false
    this.#world.note(`${process.name} goes on`)
  }

  #loseAgent(): void {
    const { random, live } = this.#world
    const agents = live.flatMap((process) => [...process.agents])
    if (agents.length === 0) return
    const agent = random.pick(agents)
    this.#world.note(`the agent of ${agent.sessionId} goes down`)
    agent.lose()
  }
}
