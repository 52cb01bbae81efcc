import { AskbackError, type Interaction } from '@askback/protocol'
import type { Process } from './process.js'
import { checkFollowed, checkHandOver, checkSettlement, checkReturned } from './interaction-rules.js'
import { holds } from './violation.js'
import type { World } from './world.js'

interface Wait {
  sessionId: string
  interactionId: string
  abort: AbortController
  process: Process | null
}

/** Waiters for settlements. After a crash, a fault or an abort they wait again until they have the settlement. */
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

  /** The interactions that the waiters started with, before any reprompt. */
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

  /** Aborts one waiter, which must not change the interaction. */
  abort(): void {
    const { interactionId, abort } = this.#world.random.pick([...this.#running])
    this.#world.note(`the wait for ${interactionId} is aborted`)
    abort.abort(new AskbackError('unavailable', 'aborted'))
  }

  abortAll(): void {
    for (const { abort } of this.#running) abort.abort(new AskbackError('unavailable', 'aborted'))
  }

  /** Aborted waiters have stopped, except those whose process is busy or whose settlement is about to arrive. */
  checkAborted(): void {
    for (const { interactionId, abort, process } of this.#running) {
      if (!abort.signal.aborted || process?.connection.busy) continue
      const { response, session } = this.#world.model.last(interactionId)
      const isSettled = response !== undefined || session.ended
      holds(isSettled, 'L10', () => `the wait for ${interactionId} continues after it was aborted`)
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

  /** Waits without claiming. */
  #watch(wait: Wait): Process {
    const { sessionId, interactionId, abort } = wait
    const { model } = this.#world
    const watch = `watch ${interactionId}`
    return this.#world.call(
      watch,
      (desk) => desk.wait(interactionId, { sessionId, claim: false, signal: abort.signal }),
      {
        ...this.#otherwise(wait),
        done: ({ interaction: returned }) => {
          this.#running.delete(wait)
          checkReturned(model, returned)
          checkFollowed(model, interactionId, returned)
          holds(
            returned.status === 'settled',
            'L10',
            () => `${interactionId} was returned before it was settled`,
          )
        },
      },
    )
  }

  /** Waits as an HTTP client does: if the interaction is still pending after the poll time, it polls again. */
  #poll(wait: Wait): Process {
    const { sessionId, interactionId, abort } = wait
    const { model } = this.#world
    const { signal } = abort
    const done = (returned: Interaction) => {
      this.#running.delete(wait)
      if (returned.status === 'settled') return checkHandOver(model, interactionId, returned)
      holds(signal.aborted, 'L10', () => `${interactionId} was returned before it was settled`)
      checkReturned(model, returned)
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
