import { createDesk, type Append, type Clock, type Desk, type Host, type Ring } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import { simulatedGateway, type SimulatedGateway } from './gateway.js'
import { Line } from './line.js'
import { checkCommit } from './log-rules.js'
import { colour } from './requests.js'
import { listenTo } from './listener.js'
import { simulatedStore } from './simulated-store.js'
import type { World } from './world.js'

type Listener = (ring: Ring) => void

/** One life of a process. When it ends, its timers never ring and its calls are never answered. */
export class Process {
  readonly name: string
  readonly desk: Desk
  readonly line: Line
  readonly gateway: SimulatedGateway
  alive = true
  readonly #listeners = new Set<Listener>()

  constructor(world: World, slot: number) {
    const { random, plan, model } = world
    this.name = world.newId(`p${slot}.`)
    this.line = new Line(random, plan.faults)
    const store = simulatedStore({
      disk: world.disk,
      line: this.line,
      locks: plan.shared ? world.locks : null,
      changes: world.changes,
      news: plan.news,
      onAppend: (listener) => {
        this.#listeners.add(listener)
        return () => this.#listeners.delete(listener)
      },
      committed: (append) => {
        world.guard(() => checkCommit(model, append))
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
    })
    this.desk = createDesk({
      store,
      clock: this.#clock(world, random.between(-plan.skewMs, plan.skewMs)),
      newId: () => world.newId(),
      kinds: [colour],
      repairMs: plan.lossy ? 5000 : 1e12,
      limits: { inMemory: plan.inMemory, pendingPerSession: plan.pendingPerSession },
      readLink: () => Promise.resolve(null),
      onError: (error) => {
        if (!(error instanceof AskbackError) || error.code !== 'unavailable') world.broke(error)
      },
    })
    listenTo(world, this)
    // Without agents nothing is live.
    const host = { desk: this.desk, liveBlocks: () => [], onLive: () => () => {} } as unknown as Host
    this.gateway = simulatedGateway(world, host, store)
  }

  hear(ring: Ring): void {
    for (const listener of this.#listeners) listener(ring)
  }

  /** Machines do not agree about the time, and what changes their clocks does not move their timers. */
  #clock(world: World, skew: number): Clock {
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

  #told({ model }: World, { events }: Append): void {
    for (const event of events) {
      if (event.type === 'interaction_delivered') model.known(event.interactionId).claimTold = true
    }
  }
}
