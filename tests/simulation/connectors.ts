import {
  connectorDesk,
  runConnector,
  type Connector,
  type RunningConnector,
  type TextCard,
} from '@askback/connectors'
import { AskbackError } from '@askback/protocol'
import type { Process } from './process.js'
import { holds } from './violation.js'
import type { World } from './world.js'

const PLACE = 'chat'

/** A chat that shows the pending requests of all sessions. It outlives the process that serves it: another takes over. */
export class Connectors {
  readonly #world: World
  /** The cards in the chat; `null` once a card has lost its controls. */
  readonly #messages: (TextCard | null)[] = []
  #running: { process: Process; connector: RunningConnector } | null = null
  #isSet = false

  constructor(world: World) {
    this.#world = world
  }

  /** Whether no running process serves the chat. */
  get isDown(): boolean {
    return this.#world.plan.connector && this.#running?.process.alive !== true
  }

  start(): void {
    const { random, live } = this.#world
    const process = random.pick(live)
    const { host, store, clock } = process
    const onError = (error: unknown) => {
      if (process.alive && !(error instanceof AskbackError)) this.#world.broke(error)
    }
    this.#world.note(`${process.name} serves the chat`)
    const desk = connectorDesk(host, store, { sessions: 'all' })
    const newId = () => this.#world.newId('card')
    const connector = runConnector({ connector: this.#surface(process), desk, clock, newId, onError })
    this.#running = { process, connector }
    connector.ready.then(
      () => this.#setPlace(connector),
      // `start` is called again, as a service manager would do.
      () => (this.#running = null),
    )
  }

  /**
   * Exactly the pending requests have an open card. The exception: a card that was shown but not recorded, because its process
   * crashed or the store failed, may be shown twice or stay open.
   */
  checkAtRest(): void {
    if (!this.#isSet || this.isDown) return
    const { model, plan } = this.#world
    const open = this.#messages.flatMap((card) => card?.interactionId ?? []).sort()
    const pending = [...model.sessions.values()].flatMap((log) => [...log.pending]).sort()
    const differs = () => `the chat shows ${open.join()}, not ${pending.join()}`
    const isLossless = plan.crashes === 0 && Object.values(plan.faults).every((rate) => rate === 0)
    if (isLossless) holds(open.join() === pending.join(), 'connectors', differs)
    for (const interactionId of pending) holds(open.includes(interactionId), 'connectors', differs)
  }

  #setPlace({ context }: RunningConnector): void {
    if (this.#isSet) return
    context.setPlace(PLACE, { sessions: 'all' }).then(
      () => (this.#isSet = true),
      () => (this.#running = null),
    )
  }

  #surface(process: Process): Connector {
    // Calls of a crashed process never complete.
    const reach = () => (process.alive ? Promise.resolve() : new Promise<never>(() => {}))
    return {
      id: 'simulated',
      via: 'telegram',
      start: () => Promise.resolve(),
      show: async (_, card) => {
        await reach()
        return this.#messages.push(card) - 1
      },
      update: async (_, shown, card) => {
        await reach()
        this.#messages[shown as number] = card
        return shown
      },
      close: async (_, shown) => {
        await reach()
        this.#messages[shown as number] = null
      },
      say: reach,
      stop: () => Promise.resolve(),
    }
  }
}
