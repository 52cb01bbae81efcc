import { AskbackError } from '@askback/protocol'
import type { Random } from './random.js'
import { microtasks } from './time.js'

/** One call of a desk to its store, released in two steps: it takes effect, and its caller hears of it. */
interface Op {
  name: string
  /** Ops of one lane take effect, and are told, in the order they were made. */
  lane: string | null
  writes: boolean
  phase: 'queued' | 'done'
  execute: () => Promise<void>
  reply: () => void
  /** Takes effect, but its caller is told that it failed. */
  hide: () => void
  refuse: () => void
}

export interface Faults {
  /** An append is not written, and its caller is told so. */
  refused: number
  /** A write takes effect, and its caller is told that nobody knows. */
  unknown: number
  /** A read fails. */
  unreadable: number
}

/** The way from one process to the store: everything on it can be delayed, overtaken, refused or cut. */
export class Line {
  readonly #random: Random
  readonly #faults: Faults
  #ops: Op[] = []
  #cut = false

  constructor(random: Random, faults: Faults) {
    this.#random = random
    this.#faults = faults
  }

  /** A promise that settles when the run lets it; after a cut, never. */
  submit<T>(
    call: { name: string; lane?: string; writes?: boolean; told?: (ok: boolean) => void },
    work: () => Promise<T>,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { name, lane = null, writes = false, told = () => {} } = call
      let outcome: { value: T } | { error: unknown }
      const op: Op = {
        name,
        lane,
        writes,
        phase: 'queued',
        async execute() {
          try {
            outcome = { value: await work() }
          } catch (error) {
            outcome = { error }
          }
          op.phase = 'done'
        },
        reply() {
          told('value' in outcome)
          if ('value' in outcome) resolve(outcome.value)
          else reject(outcome.error)
        },
        hide() {
          outcome = { error: unavailable('nobody knows whether it was written') }
        },
        refuse() {
          outcome = { error: unavailable('nothing was written') }
          op.phase = 'done'
        },
      }
      if (!this.#cut) this.#ops.push(op)
    })
  }

  get busy(): boolean {
    return this.#ops.length > 0
  }

  /** Lets one op, or a group of appends, take one step. Returns what it did. */
  async step(faultless: boolean): Promise<string> {
    const op = this.#random.pick(this.#free())
    // Group commit: what waits for the same phase may go through it together, and then shares its fate.
    const isCommit = op.lane !== null && this.#random.chance(0.3)
    // And replies that come together are told before anything that they cause has happened.
    const isBurst = op.phase === 'done' && this.#random.chance(0.1)
    const group = this.#ops.filter(
      (one) => one === op || (one.phase === op.phase && (isBurst || (isCommit && one.lane !== null))),
    )
    const named = group.map(({ name }) => name).join(' + ')
    if (op.phase === 'done') {
      this.#ops = this.#ops.filter((one) => !group.includes(one))
      for (const one of group) {
        one.reply()
        // The next one comes while whoever got this one is busy with it.
        if (group.length > 1) await microtasks(this.#random.below(8))
      }
      return `tells ${named}`
    }
    const fault = faultless ? null : this.#fault(op)
    if (fault === 'refused') {
      for (const one of group) one.refuse()
      return `refuses ${named}`
    }
    for (const one of group) await one.execute()
    if (fault === 'unknown') for (const one of group) one.hide()
    return fault === 'unknown' ? `does ${named}, says it failed` : `does ${named}`
  }

  /** The process is gone. Some of the writes that were on their way still take effect, in the order they were made. */
  async cut(late: boolean): Promise<() => Promise<void>> {
    this.#cut = true
    const left = this.#ops.filter((op) => op.writes && op.phase === 'queued')
    this.#ops = []
    const arrived = left.slice(0, this.#random.below(left.length + 1))
    const arrive = async () => {
      for (const op of arrived) await op.execute()
    }
    if (late) return arrive
    await arrive()
    return async () => {}
  }

  /** In a lane only the first that waits to take effect, and the first that waits to be told. */
  #free(): Op[] {
    const firsts = new Set<string>()
    return this.#ops.filter(({ lane, phase }) => {
      if (lane === null) return true
      const place = `${phase} ${lane}`
      return !firsts.has(place) && firsts.add(place).has(place)
    })
  }

  #fault(op: Op): 'refused' | 'unknown' | null {
    const { refused, unknown, unreadable } = this.#faults
    if (!op.writes) return this.#random.chance(unreadable) ? 'refused' : null
    if (this.#random.chance(refused)) return 'refused'
    return this.#random.chance(unknown) ? 'unknown' : null
  }
}

function unavailable(why: string): AskbackError {
  return new AskbackError('unavailable', `The simulated store failed: ${why}.`)
}
