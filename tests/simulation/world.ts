import { memoryStore, type BusMessage, type Desk, type Store } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import { fakeClock, type FakeClock } from '../../packages/core/src/testing/fake-clock.js'
import { LogModel, type Asked } from './log-model.js'
import { Network } from './network.js'
import type { Plan } from './plan.js'
import { Process } from './process.js'
import type { Random } from './random.js'
import { Runs } from './scripted-agent.js'
import { SimulatedLocks } from './session-locks.js'
import { SharedChanges } from './shared-changes.js'
import { Violation } from './violation.js'

/** Something that one process may hear from the others: late, twice, or never. */
interface Bell {
  process: Process
  name: string
  /** The session that somebody has appended to, and the place of that in the order of all appends. */
  append?: { sessionId: string; place: number }
  hear: () => void
}

export interface Outcome<T> {
  done: (value: T) => void
  /** What a caller can expect is an `AskbackError`; anything else breaks the run. */
  refused: (error: AskbackError) => void
  /** The process is gone, and its answer with it. */
  lost?: () => void
}

/** One run: processes with their desks, the store they share, time, and everybody who has called them. */
export class World {
  readonly random: Random
  readonly plan: Plan
  /** Never goes back; what the processes see is ahead of it by `offset`. */
  readonly clock: FakeClock = fakeClock()
  offset = 0
  /** By how much a timer can be behind the clock. */
  jumped = 0
  readonly disk: Store = memoryStore()
  readonly changes: SharedChanges
  readonly locks = new SimulatedLocks(() => this.clock.now())
  readonly model = new LogModel()
  readonly network = new Network(this)
  /** The calls that agents have run. */
  readonly runs = new Runs()
  readonly trace: string[] = []
  readonly processes: Process[] = []
  /** Writes of dead processes that are still on their way. */
  readonly late: (() => Promise<void>)[] = []
  /** The interaction that each idempotency key stands for. */
  readonly firsts = new Map<string, Asked>()
  /** From then on nothing fails any more. */
  faultless = false
  /** As long as this holds, no bell is heard. */
  deaf = false
  /** What clients will send again. */
  #retries: { name: string; again: () => void }[] = []
  #bells: Bell[] = []
  #calls = new Set<{ process: Process; lost: () => void }>()
  #appends = 0
  #broken: Error | null = null
  #ids = 0

  constructor(random: Random, plan: Plan) {
    this.random = random
    this.plan = plan
    this.changes = new SharedChanges(random, plan.shortPages)
    this.disk.onAppend((notice) => {
      const append = { sessionId: notice.sessionId, place: ++this.#appends }
      const name = `${notice.sessionId} ${notice.eventId}`
      for (const process of this.live)
        this.#bells.push({ process, name, append, hear: () => process.hear(notice) })
    })
  }

  newId = (prefix = 'n'): string => `${prefix}${++this.#ids}`

  note(step: string): void {
    this.trace.push(step)
  }

  get running(): number {
    return this.#calls.size
  }

  get live(): Process[] {
    return this.processes.filter(({ alive }) => alive)
  }

  get busy(): Process[] {
    return this.processes.filter(({ alive, frozen, line }) => alive && !frozen && line.busy)
  }

  /** Whether a process should be started. */
  get misses(): boolean {
    const { length } = this.live
    return length === 0 || (this.plan.replaced && length < this.plan.processes)
  }

  get bells(): number {
    return this.#bells.length
  }

  get retries(): number {
    return this.#retries.length
  }

  retry(name: string, again: () => void): void {
    this.#retries.push({ name, again })
  }

  retryOne(): void {
    const [next] = this.#retries.splice(this.random.below(this.#retries.length), 1)
    this.note(`again: ${next!.name}`)
    next!.again()
  }

  start(slot: number): void {
    const process = new Process(this, slot)
    this.processes[slot] = process
    // The bus may be up later than the store.
    process.isDeaf = this.plan.deafness > 0 && this.random.chance(0.5)
    this.note(`${process.name} starts`)
    // A host whose desk does not come up starts it again.
    process.desk.ready.catch(() => this.retry(`restart ${process.name}`, () => void this.crash(process)))
  }

  startMissing(): void {
    this.start(this.processes.findIndex(({ alive }) => !alive))
  }

  /** Lets one process get one step further with its store. */
  async step(): Promise<void> {
    const process = this.random.pick(this.busy)
    this.note(`${process.name} ${await process.line.step(this.faultless)}`)
  }

  async crash(process: Process): Promise<void> {
    if (!process.alive) return
    const gentle = this.random.chance(0.3)
    this.note(`${process.name} ${gentle ? 'closes' : 'crashes'}`)
    if (gentle && this.plan.hosted > 0) return this.#close(process)
    if (gentle) process.desk.close()
    await this.#end(process)
  }

  /** Its agents are stopped first, and its sessions given up: that takes some steps, and fails where the store does. */
  #close(process: Process): void {
    process.host
      .close()
      .catch((error: unknown) => {
        if (!(error instanceof AskbackError) || error.code !== 'unavailable') this.broke(error)
      })
      // What it has been told by then it still answers.
      .then(() => new Promise((resolve) => setImmediate(resolve)))
      .then(() => this.#end(process))
      .catch((error: unknown) => this.broke(error))
  }

  async #end(process: Process): Promise<void> {
    if (!process.alive) return
    process.alive = false
    this.network.crashed(process)
    this.#bells = this.#bells.filter((bell) => bell.process !== process)
    for (const call of this.#calls) {
      if (call.process !== process) continue
      this.#calls.delete(call)
      call.lost()
    }
    this.late.push(await process.line.cut(this.plan.shared))
  }

  /** Calls a desk that may be gone before it answers, and says in which process. */
  call<T>(
    name: string,
    work: (desk: Desk, process: Process) => Promise<T>,
    outcome: Outcome<T>,
    process: Process = this.random.pick(this.live),
  ): Process {
    this.note(`${process.name} gets ${name}`)
    const call = { process, lost: () => outcome.lost?.() }
    this.#calls.add(call)
    const ended = (how: string, told: () => void) => {
      if (!this.#calls.delete(call)) return
      this.note(`${process.name} answers ${name.split(' ')[0]}: ${how}`)
      this.guard(told)
    }
    // A desk may also throw at once.
    new Promise<T>((resolve) => resolve(work(process.desk, process))).then(
      (value) => ended('done', () => outcome.done(value)),
      (error: unknown) =>
        ended(error instanceof AskbackError ? error.code : String(error), () => {
          if (!(error instanceof AskbackError) || error.code === 'internal') throw error
          outcome.refused(error)
        }),
    )
    return process
  }

  /** Sends what has a key twice now and then, as an impatient client does. */
  sendKeyed(send: () => void): void {
    send()
    if (this.random.chance(0.15)) send()
  }

  /** What one process tells the others beside the store. */
  publish(from: Process, message: BusMessage): void {
    const name = `that ${message.type}`
    for (const process of this.live) {
      if (process !== from) this.#bells.push({ process, name, hear: () => process.receive(message) })
    }
  }

  /** Lets one bell ring, or not. */
  ring(): void {
    const index = this.random.below(this.#bells.length)
    const { process, name, append, hear } = this.#bells[index]!
    const fate = this.plan.shared && this.plan.lossy && !this.faultless ? this.random.next() : 1
    if (fate > 0.15) this.#bells.splice(index, 1)
    const lost = this.deaf || process.isDeaf || (fate < 0.35 && fate > 0.15)
    this.note(`${process.name} ${lost ? 'misses' : 'hears'} ${name}`)
    if (append) this.#noteHeard(process, append, lost)
    if (!lost) hear()
  }

  /** Whoever hears of a later append reads what the lost bells told of, or has done so before it appended that itself. */
  #noteHeard({ unheard }: Process, { sessionId, place }: NonNullable<Bell['append']>, lost: boolean): void {
    const last = unheard.get(sessionId) ?? 0
    if (lost) unheard.set(sessionId, Math.max(place, last))
    else if (place > last) unheard.delete(sessionId)
  }

  toggleDeafness(): void {
    const process = this.random.pick(this.processes)
    process.isDeaf = !process.isDeaf
    this.note(`${process.name} ${process.isDeaf ? 'hears nothing any more' : 'hears again'}`)
  }

  /** Runs a check that must not break the code it is called from. */
  guard(check: () => void): void {
    try {
      check()
    } catch (error) {
      this.broke(error)
    }
  }

  broke(error: unknown): void {
    this.#broken ??= error instanceof Error ? error : new Violation('something else than an error was thrown')
  }

  /** Everything that needs no further step has happened when this resolves. */
  async drain(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    if (this.#broken) throw this.#broken
  }
}
