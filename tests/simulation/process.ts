import {
  createDesk,
  createHost,
  Leases,
  type Append,
  type Bus,
  type BusMessage,
  type Clock,
  type Desk,
  type Host,
  type AppendNotice,
  type Store,
} from '@askback/core'
import { AskbackError } from '@askback/protocol'
import { simulatedGateway, type SimulatedGateway } from './gateway.js'
import { checkClaimant, checkTaken } from './lease-rules.js'
import { Line } from './line.js'
import { checkCommit } from './log-rules.js'
import { colour } from './requests.js'
import { listenTo } from './listener.js'
import { scriptedAgent, type ScriptedAgent } from './scripted-agent.js'
import { simulatedStore } from './simulated-store.js'
import type { World } from './world.js'

type Listener = (notice: AppendNotice) => void

export const LEASE_MS = 10_000

/** One life of a process. When it ends, its timers never ring and its calls are never answered. */
export class Process {
  readonly name: string
  readonly store: Store
  readonly clock: Clock
  readonly desk: Desk
  readonly line: Line
  readonly host: Host
  #leases: Leases | null = null
  readonly gateway: SimulatedGateway
  /** At rest, what it has told its listeners is the log. */
  readonly checkListener: (isRepaired: boolean) => void
  /** Those that its host runs. */
  readonly agents = new Set<ScriptedAgent>()
  /** The sessions of which it has lost a bell that nothing has made up for yet, with the last one's number. */
  readonly unheard = new Map<string, number>()
  /** The names that it has had. */
  readonly gatewayIds = new Set<string>()
  alive = true
  /** It loses every bell, as when its connection to the bus is down. */
  isDeaf = false
  /** It does nothing for a while, as a machine that sleeps. */
  frozen = false
  readonly #listeners = new Set<Listener>()
  readonly #busListeners = new Set<(message: BusMessage) => void>()

  constructor(world: World, slot: number) {
    const { random, plan, model } = world
    this.name = world.newId(`p${slot}.`)
    this.line = new Line(random, plan.faults)
    this.store = simulatedStore({
      disk: world.disk,
      line: this.line,
      locks: plan.shared ? world.locks : null,
      changes: world.changes,
      hasChangedSessions: plan.hasChangedSessions,
      onAppend: (listener) => {
        this.#listeners.add(listener)
        return () => this.#listeners.delete(listener)
      },
      committed: async (append) => {
        world.guard(() => checkCommit(model, append))
        this.#claimed(world, append)
        await checkClaimant(world, this, append)
        const logId = model.logWith(append.events[0]!.id)?.logId
        if (logId !== undefined) world.changes.committed(append, logId)
      },
      told: (append, committed) => {
        if (committed) this.#told(world, append)
      },
      erased: (sessionId) => {
        world.changes.erased(sessionId)
        world.guard(() => model.erase(sessionId))
      },
      put: (after, before) => checkTaken(world, after, before),
    })
    this.clock = this.#clockOf(world, random.between(-plan.skewMs, plan.skewMs))
    const { store, clock } = this
    const onError = (error: unknown) => {
      if (!this.alive || (error instanceof AskbackError && error.code === 'unavailable')) return
      world.broke(error)
    }
    this.desk = createDesk({
      store,
      clock,
      newId: () => world.newId(),
      kinds: [colour],
      repairMs: plan.lossy ? 5000 : 1e12,
      limits: { inMemory: plan.inMemory, pendingPerSession: plan.pendingPerSession },
      readLink: () => Promise.resolve(null),
      onError,
    })
    this.checkListener = listenTo(world, this)
    this.host = this.#host(world, { store, clock, onError })
    this.gateway = simulatedGateway(world, this.host, store)
  }

  /** Its name now among those that run agents; `null` where it is alone. */
  get gatewayId(): string | null {
    return this.#leases?.id ?? null
  }

  receive(message: BusMessage): void {
    for (const listener of this.#busListeners) listener(message)
  }

  #host(world: World, ports: { store: Store; clock: Clock; onError: (error: unknown) => void }): Host {
    const { desk } = this
    if (world.plan.hosted === 0) {
      // The agents of the other sessions are outside: a host would take them for lost.
      return { desk, liveBlocks: () => [], onLive: () => () => {} } as unknown as Host
    }
    const bus: Bus = {
      publish: (message) => world.publish(this, message),
      on: (listener) => {
        this.#busListeners.add(listener)
        return () => this.#busListeners.delete(listener)
      },
      close: () => Promise.resolve(),
    }
    const newId = () => {
      const id = world.newId('gateway')
      this.gatewayIds.add(id)
      return id
    }
    this.#leases = world.plan.shared ? new Leases({ ...ports, bus, newId, leaseMs: LEASE_MS }) : null
    const shared = this.#leases && { bus, leases: this.#leases }
    const onError = (error: unknown) => {
      // A session that is deleted or taken over ends what was begun in it.
      const isOver = error instanceof AskbackError && ['not_found', 'forbidden'].includes(error.code)
      if (!isOver) ports.onError(error)
    }
    return createHost({ ...ports, ...shared, onError, desk, agents: [scriptedAgent(world, this)] })
  }

  hear(notice: AppendNotice): void {
    for (const listener of this.#listeners) listener(notice)
  }

  /** Machines do not agree about the time, and what changes their clocks does not move their timers. */
  #clockOf(world: World, skew: number): Clock {
    const { clock } = world
    const ahead = () => world.offset + skew
    return {
      now: () => clock.now() + ahead(),
      alarm: (at, wake) =>
        clock.alarm(at - ahead(), () => {
          if (this.alive) wake()
        }),
    }
  }

  #claimed({ model }: World, { events }: Append): void {
    for (const event of events) {
      if (event.type === 'interaction_delivered')
        model.known(event.interactionId).claimantLives = () => this.alive
    }
  }

  #told({ model }: World, { events }: Append): void {
    for (const event of events) {
      if (event.type === 'interaction_delivered') model.known(event.interactionId).claimTold = true
    }
  }
}
