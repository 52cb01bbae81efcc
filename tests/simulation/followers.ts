import type { Advance } from '@askback/core'
import type { SessionEvent } from '@askback/protocol'
import { checkAdvance, ToldCursor } from './durable.js'
import type { Process } from './process.js'
import { holds } from './violation.js'
import type { World } from './world.js'

interface Following {
  process: Process
  sessionId: string
  /** `null` until the desk has named the head. */
  told: ToldCursor | null
  /** What came before that. */
  early: SessionEvent[] | 'gone'
  stop: (() => void) | null
  isStopped: boolean
}

const MOST = 6

/** Those who need every durable event of one session, each from one process. */
export class Followers {
  readonly #world: World
  #following: Following[] = []

  constructor(world: World) {
    this.#world = world
  }

  /** Somebody begins to follow a session, or stops. */
  act(sessionId: string): void {
    this.#following = this.#following.filter(({ process, isStopped }) => process.alive && !isStopped)
    const { random } = this.#world
    if (this.#following.length >= MOST || random.chance(0.15)) {
      const one = this.#following.length > 0 ? random.pick(this.#following) : undefined
      if (one?.stop) this.#stop(one)
    } else this.#follow(sessionId)
  }

  /** Each has been told the whole log after its head, or that it is gone. */
  checkAtRest(isRepaired: boolean): void {
    for (const { process, sessionId, told, isStopped, stop } of this.#following) {
      if (!process.alive || isStopped || !stop || !told || process.unheard.has(sessionId)) continue
      // Only the repair tells other processes of an erasure.
      const log = told.place && this.#world.model.logs.get(told.place.logId)
      told.checkAtRest(sessionId, !isRepaired && log?.ended === true)
    }
  }

  #follow(sessionId: string): void {
    const { model } = this.#world
    const name = this.#world.newId('follower')
    const one: Omit<Following, 'process'> = {
      sessionId,
      told: null,
      early: [],
      stop: null,
      isStopped: false,
    }
    const guard = (check: () => void) => {
      if (following.process.alive) this.#world.guard(check)
    }
    const advanced = (advance: Advance) => {
      holds(!one.isStopped, 'in order', () => `${name} is told of ${sessionId} after it has stopped`)
      checkAdvance(model, advance)
      if (one.told) one.told.take(advance.events)
      else if (one.early !== 'gone') one.early.push(...advance.events)
    }
    const gone = () => {
      holds(!one.isStopped, 'gone', () => `${name} is told that ${sessionId} is gone after it has stopped`)
      if (one.told) one.told.gone(sessionId)
      else one.early = 'gone'
    }
    const follower = {
      advanced: (advance: Advance) => guard(() => advanced(advance)),
      gone: () => guard(gone),
    }
    const process = this.#world.call(
      `${name} follow ${sessionId}`,
      (desk) => desk.follow(sessionId, follower),
      {
        done: ({ head, stop }) => {
          one.stop = stop
          const log = model.logs.get(head.logId)
          const isThere = log?.id === sessionId && log.events[head.seq - 1]?.id === head.id
          holds(isThere, 'durable first', () => `${name} begins at ${head.logId}@${head.seq}`)
          const { early } = one
          one.told = new ToldCursor(name, model, { logId: head.logId, seq: head.seq })
          if (early === 'gone') one.told.gone(sessionId)
          else one.told.take(early)
        },
        refused: ({ code, message }) => {
          const isExpected = code === 'unavailable' || code === 'not_found'
          holds(isExpected, 'following', () => `${name} was refused: ${message}`)
        },
      },
    )
    const following: Following = Object.assign(one, { process })
    this.#following.push(following)
  }

  #stop(one: Following): void {
    this.#world.note(`somebody stops following ${one.sessionId}`)
    one.isStopped = true
    one.stop?.()
  }
}
