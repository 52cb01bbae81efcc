import { AskbackError, type Interaction } from '@askback/protocol'
import type { Process } from './process.js'
import { checkFollowed, checkHandOver, checkSettlement, checkTold } from './told.js'
import { holds } from './violation.js'
import type { World } from './world.js'

interface Wait {
  sessionId: string
  interactionId: string
  abort: AbortController
  process: Process | null
}

/** Those who wait for a settlement. Whatever stops them, they come back until they have it. */
export class Waits {
  readonly #world: World
  readonly #running = new Set<Wait>()

  constructor(world: World) {
    this.#world = world
  }

  get size(): number {
    return this.#running.size
  }

  get running(): readonly Readonly<Wait>[] {
    return [...this.#running]
  }

  /** What is waited for, as it was first asked. */
  get waited(): string[] {
    return [...this.#running].map(({ interactionId }) => interactionId)
  }

  start(sessionId: string, interactionId: string): void {
    const wait: Wait = { sessionId, interactionId, abort: new AbortController(), process: null }
    this.#running.add(wait)
    wait.process = this.#world.random.weighted([
      [6, () => this.#wait(wait)],
      [1, () => this.#watch(wait)],
      [2, () => this.#poll(wait)],
    ])()
  }

  /** Aborting only stops waiting. */
  abort(): void {
    const { interactionId, abort } = this.#world.random.pick([...this.#running])
    this.#world.note(`the wait for ${interactionId} is aborted`)
    abort.abort(new AskbackError('unavailable', 'aborted'))
  }

  abortAll(): void {
    for (const { abort } of this.#running) abort.abort(new AskbackError('unavailable', 'aborted'))
  }

  /** Where nothing is under way, whoever was told to stop has stopped; only who gets what it waited for may still be there. */
  checkAborted(): void {
    for (const { interactionId, abort, process } of this.#running) {
      if (!abort.signal.aborted || process?.line.busy) continue
      const { response, session } = this.#world.model.last(interactionId)
      const isSettled = response !== undefined || session.ended
      holds(isSettled, 'L10', () => `the wait for ${interactionId} goes on though it was aborted`)
    }
  }

  #wait(wait: Wait): Process {
    const { sessionId, interactionId, abort } = wait
    const isNamed = this.#world.random.chance(0.7)
    return this.#world.call(
      `wait ${interactionId}`,
      (desk) => {
        const { signal } = abort
        return isNamed
          ? desk.as({ id: 'agent' }).wait(interactionId, { sessionId, signal })
          : desk.wait(interactionId, { signal })
      },
      {
        ...this.#otherwise(wait),
        done: (settled) => {
          this.#running.delete(wait)
          checkSettlement(this.#world.model, interactionId, settled)
        },
      },
    )
  }

  /** Looks on, and claims nothing. */
  #watch(wait: Wait): Process {
    const { sessionId, interactionId, abort } = wait
    const { model } = this.#world
    const watch = `watch ${interactionId}`
    return this.#world.call(
      watch,
      (desk) => desk.wait(interactionId, { sessionId, claim: false, signal: abort.signal }),
      {
        ...this.#otherwise(wait),
        done: ({ interaction: told }) => {
          this.#running.delete(wait)
          checkTold(model, told)
          checkFollowed(model, interactionId, told)
          holds(told.status === 'settled', 'L10', () => `${interactionId} was shown before it was settled`)
        },
      },
    )
  }

  /** Over HTTP: what is still pending when the time is up is asked for again. */
  #poll(wait: Wait): Process {
    const { sessionId, interactionId, abort } = wait
    const { model } = this.#world
    const { signal } = abort
    const done = (told: Interaction) => {
      this.#running.delete(wait)
      if (told.status === 'settled') return checkHandOver(model, interactionId, told)
      holds(signal.aborted, 'L10', () => `${interactionId} was shown before it was settled`)
      checkTold(model, told)
      this.#again(wait)
    }
    const poll = `poll ${interactionId}`
    return this.#world.call(
      poll,
      (desk) => desk.as({ id: 'http' }).wait(interactionId, { sessionId, until: signal }),
      {
        ...this.#otherwise(wait),
        done,
      },
    )
  }

  #otherwise(wait: Wait) {
    return {
      lost: () => this.#again(wait),
      refused: (error: AskbackError) => {
        if (error.code === 'unavailable') return this.#again(wait)
        this.#running.delete(wait)
        const { interactionId } = wait
        const deleted = error.code === 'not_found' && this.#world.model.known(interactionId).session.ended
        holds(deleted, 'L10', () => `the wait for ${interactionId}: ${error.message}`)
      },
    }
  }

  #again(wait: Wait): void {
    const { sessionId, interactionId } = wait
    this.#running.delete(wait)
    this.#world.retry(`wait ${interactionId}`, () => this.start(sessionId, interactionId))
  }
}
