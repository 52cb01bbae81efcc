import type { SessionEvent } from '@askback/protocol'
import { checkDurable } from './delivery-rules.js'
import type { LoggedSession } from './log-model.js'
import type { Process } from './process.js'
import { holds } from './violation.js'
import type { World } from './world.js'

interface AllSessionsFollower {
  name: string
  process: Process
  /** The number of commits when the desk promised to deliver all later ones; `null` before that. */
  from: number | null
  received: Map<LoggedSession, number>
  ids: Set<string>
  stop: (() => void) | null
  isStopped: boolean
}

const MAX_FOLLOWERS = 3

/** Followers of all sessions, each connected to one process. */
export class AllFollowers {
  readonly #world: World
  #followers: AllSessionsFollower[] = []

  constructor(world: World) {
    this.#world = world
  }

  /** A follower starts or stops. */
  act(): void {
    this.#followers = this.#followers.filter(({ process, isStopped }) => process.alive && !isStopped)
    const { random } = this.#world
    if (this.#followers.length < MAX_FOLLOWERS && !random.chance(0.25)) return this.#follow()
    const one = this.#followers.length > 0 ? random.pick(this.#followers) : undefined
    if (!one?.stop) return
    this.#world.note(`${one.name} stops following all sessions`)
    one.isStopped = true
    one.stop()
  }

  /** Each follower has received every commit since it started, except those of erased sessions. */
  checkAtRest(): void {
    const { model } = this.#world
    for (const { name, process, from, isStopped, ids } of this.#followers) {
      if (!process.alive || isStopped || from === null || process.missedDoorbells.size > 0) continue
      for (const { session, events } of model.commits.slice(from)) {
        if (model.sessions.get(session.id) !== session) continue
        const missed = events.find(({ id }) => !ids.has(id))
        holds(missed === undefined, 'at rest', () => `${name} missed ${missed?.seq} of ${session.id}`)
      }
    }
  }

  #follow(): void {
    const { model } = this.#world
    const name = this.#world.newId('inbox')
    const one: Omit<AllSessionsFollower, 'process'> = {
      name,
      from: null,
      received: new Map(),
      ids: new Set(),
      stop: null,
      isStopped: false,
    }
    const take = (events: SessionEvent[], texts: string[]) => {
      holds(!one.isStopped, 'in order', () => `${name} gets events after it has stopped`)
      holds(texts.length === events.length, 'in order', () => `${name} gets texts that are not its events`)
      for (const event of events) {
        const log = checkDurable(model, event)
        const before = one.received.get(log)
        const where = () => `${name} gets ${event.seq} of ${log.id} after ${before}`
        // Events from before it started may be missing; between two that it received, none may be.
        holds(before === undefined || before + 1 === event.seq, 'in order', where)
        one.received.set(log, event.seq)
        one.ids.add(event.id)
      }
    }
    const listener = (events: SessionEvent[], texts: () => string[]) => {
      if (following.process.alive) this.#world.guard(() => take(events, texts()))
    }
    const process = this.#world.call(`${name} follows all`, (desk) => desk.followAll(listener), {
      done: (stop) => {
        one.from = model.commits.length
        one.stop = stop
      },
      refused: ({ code, message }) => {
        holds(code === 'unavailable', 'following', () => `${name} was refused: ${message}`)
      },
    })
    const following: AllSessionsFollower = Object.assign(one, { process })
    this.#followers.push(following)
  }
}
