import type { Advance } from '@askback/core'
import type { SessionEvent } from '@askback/protocol'
import { checkAdvance, DeliveryCursor } from './delivery-rules.js'
import type { Process } from './process.js'
import { holds } from './violation.js'
import type { World } from './world.js'

interface SessionFollower {
  process: Process
  sessionId: string
  /** `null` until the desk has named the head. */
  cursor: DeliveryCursor | null
  /** Events that arrived before the head did. */
  early: SessionEvent[] | 'gone'
  stop: (() => void) | null
  isStopped: boolean
}

const MAX_FOLLOWERS = 6

/** Followers that need every durable event of one session, each connected to one process. */
export class Followers {
  readonly #world: World
  #followers: SessionFollower[] = []

  constructor(world: World) {
    this.#world = world
  }

  /** A follower starts or stops. */
  act(sessionId: string): void {
    this.#followers = this.#followers.filter(({ process, isStopped }) => process.alive && !isStopped)
    const { random } = this.#world
    if (this.#followers.length >= MAX_FOLLOWERS || random.chance(0.15)) {
      const one = this.#followers.length > 0 ? random.pick(this.#followers) : undefined
      if (one?.stop) this.#stop(one)
    } else this.#follow(sessionId)
  }

  /** Each follower has received the whole log after its first head, or the erasure of the log. */
  checkAtRest(isRepaired: boolean): void {
    for (const { process, sessionId, cursor, isStopped, stop } of this.#followers) {
      if (!process.alive || isStopped || !stop || !cursor || process.missedDoorbells.has(sessionId)) continue
      // Other processes learn of an erasure only by polling the store.
      const log = cursor.position && this.#world.model.logs.get(cursor.position.logId)
      cursor.checkAtRest(sessionId, !isRepaired && log?.ended === true)
    }
  }

  #follow(sessionId: string): void {
    const { model } = this.#world
    const name = this.#world.newId('follower')
    const one: Omit<SessionFollower, 'process'> = {
      sessionId,
      cursor: null,
      early: [],
      stop: null,
      isStopped: false,
    }
    const guard = (check: () => void) => {
      if (following.process.alive) this.#world.guard(check)
    }
    const advanced = (advance: Advance) => {
      holds(!one.isStopped, 'in order', () => `${name} gets events of ${sessionId} after it has stopped`)
      checkAdvance(model, advance)
      if (one.cursor) one.cursor.take(advance.events)
      else if (one.early !== 'gone') one.early.push(...advance.events)
    }
    const gone = () => {
      holds(!one.isStopped, 'gone', () => `${name} gets the erasure of ${sessionId} after it has stopped`)
      if (one.cursor) one.cursor.gone(sessionId)
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
          one.cursor = new DeliveryCursor(name, model, { logId: head.logId, seq: head.seq })
          if (early === 'gone') one.cursor.gone(sessionId)
          else one.cursor.take(early)
        },
        refused: ({ code, message }) => {
          const isExpected = code === 'unavailable' || code === 'not_found'
          holds(isExpected, 'following', () => `${name} was refused: ${message}`)
        },
      },
    )
    const following: SessionFollower = Object.assign(one, { process })
    this.#followers.push(following)
  }

  #stop(one: SessionFollower): void {
    this.#world.note(`somebody stops following ${one.sessionId}`)
    one.isStopped = true
    one.stop?.()
  }
}
