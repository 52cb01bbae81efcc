import { AskbackError } from '@askback/protocol'
import type { Random } from './random.js'
import { microtasks } from './time.js'

/** One call of a desk to its store, released in two steps: it takes effect, and then its caller gets the reply. */
interface StoreCall {
  name: string
  /** Calls of one lane take effect, and get their replies, in the order they were made. */
  lane: string | null
  writes: boolean
  phase: 'queued' | 'done'
  execute: () => Promise<void>
  reply: () => void
  /** The call has taken effect, but its caller gets an error. */
  hideResult: () => void
  refuse: () => void
}

export interface Faults {
  /** Probability that an append is not written, and its caller gets an error. */
  refused: number
  /** Probability that a write takes effect, and its caller gets an error of unknown outcome. */
  unknown: number
  /** Probability that a read fails. */
  unreadable: number
}

/** The connection of one process to the store: each call on it can be delayed, overtaken, refused or lost. */
export class StoreConnection {
  readonly #random: Random
  readonly #faults: Faults
  #calls: StoreCall[] = []
  #isDisconnected = false

  constructor(random: Random, faults: Faults) {
    this.#random = random
    this.#faults = faults
  }

  /** The promise settles when `step` releases the call; after `disconnect` it never does. */
  submit<T>(
    options: { name: string; lane?: string; writes?: boolean; replied?: (ok: boolean) => void },
    work: () => Promise<T>,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const { name, lane = null, writes = false, replied = () => {} } = options
      let outcome: { value: T } | { error: unknown }
      const call: StoreCall = {
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
          call.phase = 'done'
        },
        reply() {
          replied('value' in outcome)
          if ('value' in outcome) resolve(outcome.value)
          else reject(outcome.error)
        },
        hideResult() {
          outcome = { error: unavailable('it is unknown whether it was written') }
        },
        refuse() {
          outcome = { error: unavailable('nothing was written') }
          call.phase = 'done'
        },
      }
      if (!this.#isDisconnected) this.#calls.push(call)
    })
  }

  get busy(): boolean {
    return this.#calls.length > 0
  }

  /** Advances one call, or a group of them, by one step. Returns a description for the trace. */
  async step(faultless: boolean): Promise<string> {
    const call = this.#random.pick(this.#free())
    // Group commit: calls that wait for the same phase may pass it together, and then all succeed or all fail.
    const isCommit = call.lane !== null && this.#random.chance(0.3)
    // Replies of one burst arrive before the code that they trigger has run.
    const isBurst = call.phase === 'done' && this.#random.chance(0.1)
    const group = this.#calls.filter(
      (one) => one === call || (one.phase === call.phase && (isBurst || (isCommit && one.lane !== null))),
    )
    const named = group.map(({ name }) => name).join(' + ')
    if (call.phase === 'done') {
      this.#calls = this.#calls.filter((one) => !group.includes(one))
      for (const one of group) {
        one.reply()
        // The next reply arrives while the receiver of this one still works on it.
        if (group.length > 1) await microtasks(this.#random.below(8))
      }
      return `gets the reply of ${named}`
    }
    const fault = faultless ? null : this.#fault(call)
    if (fault === 'refused') {
      for (const one of group) one.refuse()
      return `refuses ${named}`
    }
    for (const one of group) await one.execute()
    if (fault === 'unknown') for (const one of group) one.hideResult()
    return fault === 'unknown' ? `does ${named}, replies that it failed` : `does ${named}`
  }

  /** The process has crashed. Some of the writes that it had sent still take effect, in the order they were made. */
  async disconnect(late: boolean): Promise<() => Promise<void>> {
    this.#isDisconnected = true
    const left = this.#calls.filter((call) => call.writes && call.phase === 'queued')
    this.#calls = []
    const arrived = left.slice(0, this.#random.below(left.length + 1))
    const arrive = async () => {
      for (const call of arrived) await call.execute()
    }
    if (late) return arrive
    await arrive()
    return async () => {}
  }

  /** In a lane only the first call that waits to take effect, and the first that waits for its reply. */
  #free(): StoreCall[] {
    const firsts = new Set<string>()
    return this.#calls.filter(({ lane, phase }) => {
      if (lane === null) return true
      const queue = `${phase} ${lane}`
      return !firsts.has(queue) && firsts.add(queue).has(queue)
    })
  }

  #fault(call: StoreCall): 'refused' | 'unknown' | null {
    const { refused, unknown, unreadable } = this.#faults
    if (!call.writes) return this.#random.chance(unreadable) ? 'refused' : null
    if (this.#random.chance(refused)) return 'refused'
    return this.#random.chance(unknown) ? 'unknown' : null
  }
}

function unavailable(why: string): AskbackError {
  return new AskbackError('unavailable', `The simulated store failed: ${why}.`)
}
