import { viewInteraction, type Interaction, type SessionState } from '@askback/protocol'
import type { Command } from '../decide/command.js'
import type { AppendNotice } from '../store/store.js'
import {
  CommandLoop,
  exists,
  type CommandLoopOptions,
  type CommittedSettlements,
  type RunOptions,
} from './command-loop.js'
import type { Follower, Head } from './committed.js'
import { Deadlines } from './deadlines.js'
import { checkId, closedError, sessionNotFound } from './desk-options.js'
import type { CommandResult } from './idempotency.js'
import { AllSessions, Listeners, type GoneListener, type Listener } from './listeners.js'
import { SessionCache } from './session-cache.js'
import type { Speculative } from './speculative.js'
import { Waiters } from './waiters.js'

export interface EngineOptions extends CommandLoopOptions {
  /** Memory for idle sessions, by their weight. */
  memoryBudget: number
  /** How old a read may be on a shared store, in milliseconds. */
  maxStaleMs: number
}

interface WaiterPorts {
  /** Called when an append of this process is durable. */
  resolveWaiters(settlements: CommittedSettlements): void
  /** Reads the log for the interactions that are waited for in a session. */
  recheck(sessionId: string): Promise<void>
}

/** The parts of a desk, connected: the session cache, the command loop, listeners, deadlines and waiters. */
export class Engine {
  readonly options: EngineOptions
  readonly waiters = new Waiters()
  readonly deadlines: Deadlines
  readonly allSessions: AllSessions
  /** Sessions that are being created, with the number of calls that do so. */
  readonly beginning = new Map<string, number>()
  readonly #cache: SessionCache
  readonly #listeners: Listeners
  readonly #loop: CommandLoop
  #closed = false

  constructor(options: EngineOptions, waiterPorts: WaiterPorts) {
    const { store, clock, memoryBudget, onError } = options
    this.options = options
    this.#listeners = new Listeners(onError)
    this.allSessions = new AllSessions({
      store,
      clock,
      onError,
      on: (listener, gone) => this.#listeners.add(listener, gone),
    })
    this.deadlines = new Deadlines({
      clock,
      expire: async (sessionId, interactionId) =>
        (await this.run(sessionId, { type: 'expire', interactionId })).interaction,
      onError,
    })
    this.#cache = new SessionCache({
      store,
      clock,
      memoryBudget,
      onError,
      advanced: (advance) => {
        this.deadlines.update(advance.events)
        this.#listeners.advanced(advance)
      },
      gone: (sessionId) => this.#listeners.gone(sessionId),
      hasWaiters: (sessionId) => this.waiters.hasWaitersIn(sessionId),
      recheckWaiters: (sessionId) => waiterPorts.recheck(sessionId),
    })
    this.#loop = new CommandLoop(options, {
      cache: this.#cache,
      waiters: this.waiters,
      listeners: this.#listeners,
      log: (sessionId) => this.log(sessionId),
      isClosed: () => this.#closed,
      resolveWaiters: (settlements) => waiterPorts.resolveWaiters(settlements),
    })
  }

  run(sessionId: string, command: Command, options?: RunOptions): Promise<CommandResult> {
    return this.#loop.run(sessionId, command, options)
  }

  /**
   * Resolves with `project` of the state when everything in it is durable. On a shared store the state may be older than the
   * store by `maxStaleMs`; with `fresh` it includes everything that was in the store at the time of the call.
   */
  async read<T>(sessionId: string, project: (state: SessionState) => T, { fresh = false } = {}): Promise<T> {
    const { store, maxStaleMs } = this.options
    if (store.shared) await this.#cache.bringUpToDate(sessionId, fresh ? 0 : maxStaleMs)
    for (;;) {
      const known = this.log(sessionId)
      const log = known instanceof Promise ? await known : known
      if (log.stale) continue
      const { seq } = log.state
      const isThere = exists(log.state)
      const value = isThere ? project(log.state) : null
      // Most states have no pending append: then there is nothing to wait for.
      if (!log.idle && !(await log.durable())) continue
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `project` has made it, because the session is there
      if (isThere) return value as T
      if (await this.#loop.isCurrent(log, seq)) throw sessionNotFound(log.state)
    }
  }

  /** The interaction as a caller gets it now. */
  view(item: Interaction): Interaction {
    return viewInteraction(item, this.options.clock.now())
  }

  log(sessionId: string): Speculative | Promise<Speculative> {
    if (this.#closed) throw closedError()
    checkId(sessionId, 'session')
    return this.#cache.get(sessionId)
  }

  /** Drops the state of a session that was erased, or may have been. */
  forget(sessionId: string): void {
    this.#cache.forget(sessionId)
  }

  /** The doorbell of the store. */
  onDoorbell({ sessionId, eventId }: AppendNotice): void {
    this.allSessions.hint()
    if (!this.#cache.isOwn(sessionId, eventId)) this.#cache.hint(sessionId)
  }

  /** Whether this process knows the log up to that event. */
  reaches(sessionId: string, end: { logId: string; seq: number }): boolean {
    return this.#cache.reaches(sessionId, end)
  }

  /** Reads what other processes have appended. */
  refresh(sessionId: string): Promise<void> {
    return this.#cache.refresh(sessionId)
  }

  /** Reads what other processes have appended to the sessions in memory. */
  refreshAll(): Promise<void> {
    return this.#cache.refreshAll()
  }

  /** Records that a comparison of everything in memory with the store has succeeded, and when it began. */
  setComparedAt(at: number): void {
    this.#cache.comparedAt = at
  }

  /** Calls `follower` with each durable event after the returned head. */
  async follow(sessionId: string, follower: Follower): Promise<{ head: Head; stop: () => void }> {
    await this.read(sessionId, () => null)
    const followed = await this.#cache.follow(sessionId, follower)
    if (followed) return followed
    throw sessionNotFound({ sessionId })
  }

  on(listener: Listener, gone?: GoneListener): () => void {
    return this.#listeners.add(listener, gone)
  }

  close(): void {
    this.#closed = true
    this.deadlines.close()
    this.#cache.close()
    this.allSessions.close()
    this.#listeners.clear()
    this.waiters.rejectAll(closedError())
  }

  get closed(): boolean {
    return this.#closed
  }
}
