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
import { StoreConnection } from './store-connection.js'
import { checkCommit } from './log-rules.js'
import { colour } from './requests.js'
import { listenTo } from './listener.js'
import { scriptedAgent, type ScriptedAgent } from './scripted-agent.js'
import { simulatedStore } from './simulated-store.js'
import { microtasks } from './time.js'
import type { World } from './world.js'

/** More microtasks than there are between the reply to an append and the waiter that it resolves. */
const STEPS_TO_HAND_OVER = 30

type Listener = (notice: AppendNotice) => void

export const LEASE_MS = 10_000

/** One process from its start to its end. After the end its timers never fire and its calls never get a reply. */
export class Process {
  readonly name: string
  readonly store: Store
  readonly clock: Clock
  readonly desk: Desk
  readonly connection: StoreConnection
  readonly host: Host
  #leases: Leases | null = null
  readonly gateway: SimulatedGateway
  /** Checks, when nothing is in progress, that its listeners have received the whole log. */
  readonly checkListener: (isRepaired: boolean) => void
  /** The agents that its host runs. */
  readonly agents = new Set<ScriptedAgent>()
  /** Sessions of which it missed a doorbell and has not caught up yet, with the number of the last missed one. */
  readonly missedDoorbells = new Map<string, number>()
  /** All ids that it has had: a gateway that was taken for dead continues under a new one. */
  readonly gatewayIds = new Set<string>()
  alive = true
  /** It receives no doorbell, as when its connection to the bus is down. */
  losesDoorbells = false
  /** It makes no progress for a while, as a machine that sleeps. */
  frozen = false
  readonly #listeners = new Set<Listener>()
  readonly #busListeners = new Set<(message: BusMessage) => void>()

  constructor(world: World, slot: number) {
    const { random, plan, model } = world
    this.name = world.newId(`p${slot}.`)
    this.connection = new StoreConnection(random, plan.faults)
    this.store = simulatedStore({
      disk: world.disk,
      connection: this.connection,
      locks: plan.shared ? world.locks : null,
      changes: world.changes,
      hasChangedSessions: plan.hasChangedSessions,
      onAppend: (listener) => {
        this.#listeners.add(listener)
        return () => this.#listeners.delete(listener)
      },
      committed: async (append) => {
        world.guard(() => checkCommit(model, append))
        this.#noteClaimant(world, append)
        await checkClaimant(world, this, append)
        const logId = model.logWith(append.events[0]!.id)?.logId
        if (logId !== undefined) world.changes.committed(append, logId)
      },
      replied: (append, committed) => {
        if (committed) void this.#confirmClaims(world, append)
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

  /** Its current id among the gateways that run agents; `null` where it is the only one. */
  get gatewayId(): string | null {
    return this.#leases?.id ?? null
  }

  receive(message: BusMessage): void {
    for (const listener of this.#busListeners) listener(message)
  }

  #host(world: World, ports: { store: Store; clock: Clock; onError: (error: unknown) => void }): Host {
    const { desk } = this
    if (world.plan.hosted === 0) {
      // No process runs the agents of these sessions, so a real host would report them as lost.
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
      // Commands in a session that was deleted or taken over fail with these codes.
      const isOver = error instanceof AskbackError && ['not_found', 'forbidden'].includes(error.code)
      if (!isOver) ports.onError(error)
    }
    return createHost({ ...ports, ...shared, onError, desk, agents: [scriptedAgent(world, this)] })
  }

  receiveNotice(notice: AppendNotice): void {
    for (const listener of this.#listeners) listener(notice)
  }

  /** Clocks of machines differ by `skew`, and a change of the wall clock does not move timers. */
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

  #noteClaimant({ model }: World, { events }: Append): void {
    for (const event of events) {
      if (event.type === 'interaction_delivered')
        model.known(event.interactionId).claimantLives = () => this.alive
    }
  }

  /** If a process crashes among the replies of one burst, it may not have handed over a claim of an earlier reply. */
  async #confirmClaims({ model }: World, { events }: Append): Promise<void> {
    const claimed = events.flatMap((event) =>
      event.type === 'interaction_delivered' ? [model.known(event.interactionId)] : [],
    )
    await microtasks(STEPS_TO_HAND_OVER)
    if (this.alive) for (const item of claimed) item.isClaimConfirmed = true
  }
}
