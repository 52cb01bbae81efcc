import { memoryStore, type BusMessage, type Desk, type Store } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import { fakeClock, type FakeClock } from '../../packages/core/src/testing/fake-clock.js'
import { LogModel, type LoggedInteraction } from './log-model.js'
import { Network } from './network.js'
import type { Plan } from './plan.js'
import { Process } from './process.js'
import type { Random } from './random.js'
import { Runs } from './scripted-agent.js'
import { SimulatedLocks } from './session-locks.js'
import { SharedChanges } from './shared-changes.js'
import { Violation } from './violation.js'

/** A notification from one process to another, which may arrive late, twice, or never. */
interface Doorbell {
  process: Process
  name: string
  /** The session of the append, and the number of the append in the order of all appends. */
  append?: { sessionId: string; number: number }
  receive: () => void
}

export interface CallHandlers<T> {
  done: (value: T) => void
  /** Called with an expected error; anything but an `AskbackError` fails the run. */
  refused: (error: AskbackError) => void
  /** The process crashed before it answered. */
  lost?: () => void
}

/** One run: the processes with their desks, the store they share, the clock, and the calls in progress. */
export class World {
  readonly random: Random
  readonly plan: Plan
  /** Never goes back. The wall clock of the processes is ahead of it by `offset`. */
  readonly clock: FakeClock = fakeClock()
  offset = 0
  /** The sum of all changes of the wall clock in milliseconds: a timer can be late by that much. */
  jumped = 0
  readonly disk: Store = memoryStore()
  readonly changes: SharedChanges
  readonly locks = new SimulatedLocks(() => this.clock.now())
  readonly model = new LogModel()
  readonly network = new Network(this)
  /** The tool calls that agents have run. */
  readonly runs = new Runs()
  readonly trace: string[] = []
  readonly processes: Process[] = []
  /** Writes of crashed processes that still reach the store. */
  readonly late: (() => Promise<void>)[] = []
  /** The interaction that each idempotency key stands for. */
  readonly firsts = new Map<string, LoggedInteraction>()
  /** While true, no fault is injected. */
  faultless = false
  /** While true, every doorbell is lost. */
  losesAllDoorbells = false
  /** Calls that clients will send again. */
  #retries: { name: string; again: () => void }[] = []
  #doorbells: Doorbell[] = []
  #calls = new Set<{ process: Process; lost: () => void }>()
  #appends = 0
  #broken: Error | null = null
  #ids = 0

  constructor(random: Random, plan: Plan) {
    this.random = random
    this.plan = plan
    this.changes = new SharedChanges(random, plan.shortPages)
    this.disk.onAppend((notice) => {
      const append = { sessionId: notice.sessionId, number: ++this.#appends }
      const name = `${notice.sessionId} ${notice.eventId}`
      for (const process of this.live)
        this.#doorbells.push({ process, name, append, receive: () => process.receiveNotice(notice) })
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
    return this.processes.filter(({ alive, frozen, connection }) => alive && !frozen && connection.busy)
  }

  /** Whether a process should be started. */
  get needsProcess(): boolean {
    const { length } = this.live
    return length === 0 || (this.plan.replaced && length < this.plan.processes)
  }

  get doorbells(): number {
    return this.#doorbells.length
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
    // The bus may become available later than the store.
    process.losesDoorbells = this.plan.busOutages > 0 && this.random.chance(0.5)
    this.note(`${process.name} starts`)
    // A desk that fails to start is restarted, as a service manager would do.
    process.desk.ready.catch(() => this.retry(`restart ${process.name}`, () => void this.crash(process)))
  }

  startMissing(): void {
    this.start(this.processes.findIndex(({ alive }) => !alive))
  }

  /** Advances one store call of a random process by one step. */
  async step(): Promise<void> {
    const process = this.random.pick(this.busy)
    this.note(`${process.name} ${await process.connection.step(this.faultless)}`)
  }

  async crash(process: Process): Promise<void> {
    if (!process.alive) return
    const gentle = this.random.chance(0.3)
    this.note(`${process.name} ${gentle ? 'closes' : 'crashes'}`)
    if (gentle && this.plan.hosted > 0) return this.#close(process)
    if (gentle) process.desk.close()
    await this.#end(process)
  }

  /** Drains the process: stops its agents and releases its leases. That takes several steps, and fails if the store does. */
  #close(process: Process): void {
    process.host
      .close()
      .catch((error: unknown) => {
        if (!(error instanceof AskbackError) || error.code !== 'unavailable') this.broke(error)
      })
      // Replies that have arrived by now are still processed.
      .then(() => new Promise((resolve) => setImmediate(resolve)))
      .then(() => this.#end(process))
      .catch((error: unknown) => this.broke(error))
  }

  async #end(process: Process): Promise<void> {
    if (!process.alive) return
    process.alive = false
    this.network.crashed(process)
    this.#doorbells = this.#doorbells.filter((doorbell) => doorbell.process !== process)
    for (const call of this.#calls) {
      if (call.process !== process) continue
      this.#calls.delete(call)
      call.lost()
    }
    this.late.push(await process.connection.disconnect(this.plan.shared))
  }

  /** Calls a desk, whose process may crash before it answers. Returns the process. */
  call<T>(
    name: string,
    work: (desk: Desk, process: Process) => Promise<T>,
    handlers: CallHandlers<T>,
    process: Process = this.random.pick(this.live),
  ): Process {
    this.note(`${process.name} gets ${name}`)
    const call = { process, lost: () => handlers.lost?.() }
    this.#calls.add(call)
    const ended = (how: string, handle: () => void) => {
      if (!this.#calls.delete(call)) return
      this.note(`${process.name} answers ${name.split(' ')[0]}: ${how}`)
      this.guard(handle)
    }
    // A desk may also throw synchronously.
    new Promise<T>((resolve) => resolve(work(process.desk, process))).then(
      (value) => ended('done', () => handlers.done(value)),
      (error: unknown) =>
        ended(error instanceof AskbackError ? error.code : String(error), () => {
          if (!(error instanceof AskbackError) || error.code === 'internal') throw error
          handlers.refused(error)
        }),
    )
    return process
  }

  /** Sometimes sends a call with an idempotency key twice, as an impatient client does. */
  sendKeyed(send: () => void): void {
    send()
    if (this.random.chance(0.15)) send()
  }

  /** Sends a bus message from one process to all others. */
  publish(from: Process, message: BusMessage): void {
    const name = `that ${message.type}`
    for (const process of this.live) {
      if (process !== from) this.#doorbells.push({ process, name, receive: () => process.receive(message) })
    }
  }

  /** Delivers, repeats or loses one random doorbell. */
  deliverDoorbell(): void {
    const index = this.random.below(this.#doorbells.length)
    const { process, name, append, receive } = this.#doorbells[index]!
    const fate = this.plan.shared && this.plan.lossy && !this.faultless ? this.random.next() : 1
    if (fate > 0.15) this.#doorbells.splice(index, 1)
    const lost = this.losesAllDoorbells || process.losesDoorbells || (fate < 0.35 && fate > 0.15)
    this.note(`${process.name} ${lost ? 'misses' : 'gets'} the doorbell ${name}`)
    if (append) this.#noteDoorbell(process, append, lost)
    if (!lost) receive()
  }

  /** A process that gets the doorbell of a later append reads all earlier ones, too, so it has caught up. */
  #noteDoorbell(
    { missedDoorbells }: Process,
    { sessionId, number }: NonNullable<Doorbell['append']>,
    lost: boolean,
  ): void {
    const last = missedDoorbells.get(sessionId) ?? 0
    if (lost) missedDoorbells.set(sessionId, Math.max(number, last))
    else if (number > last) missedDoorbells.delete(sessionId)
  }

  toggleBusOutage(): void {
    const process = this.random.pick(this.processes)
    process.losesDoorbells = !process.losesDoorbells
    this.note(
      `${process.name} ${process.losesDoorbells ? 'stops receiving doorbells' : 'receives doorbells again'}`,
    )
  }

  /** Runs a check inside a callback of the code under test, which must not see the check's error. */
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

  /** Resolves when no code can run without a further step. Throws the first violation. */
  async drain(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    if (this.#broken) throw this.#broken
  }
}
