import { jumpAwareClock, type Clock } from '../clock.js'
import type { AgentProcesses, AgentProcessesOptions } from './agent-processes.js'

const FREE_AFTER_MS = 10 * 60_000

interface Watched {
  /** When the log of the session changed last. */
  changedAt: number
  disarm: () => void
}

/**
 * Finds the agents of this process whose session has not changed for some time. An idle agent may hold hundreds of megabytes, and its
 * next message can start it again. There is one alarm per session, which is set again when it rings too early: an event only stores
 * its time.
 */
export class IdleAgents {
  readonly #clock: Clock
  readonly #afterMs: number | null
  readonly #processes: AgentProcesses
  readonly #free: (sessionId: string) => Promise<void>
  readonly #onError: (error: unknown) => void
  readonly #watched = new Map<string, Watched>()

  /** `free` ends an agent, unless its session has something to do. */
  constructor(
    { clock = jumpAwareClock, freeAfterMs = FREE_AFTER_MS, onError }: AgentProcessesOptions,
    processes: AgentProcesses,
    free: (sessionId: string) => Promise<void>,
  ) {
    this.#clock = clock
    this.#afterMs = freeAfterMs
    this.#processes = processes
    this.#free = free
    this.#onError = onError
  }

  /** Called with every change of a session whose agent runs here. */
  changed(sessionId: string): void {
    if (this.#afterMs === null) return
    const changedAt = this.#clock.now()
    const known = this.#watched.get(sessionId)
    if (known) known.changedAt = changedAt
    else this.#watch(sessionId, changedAt, this.#afterMs)
  }

  stop(): void {
    for (const { disarm } of this.#watched.values()) disarm()
    this.#watched.clear()
  }

  #watch(sessionId: string, changedAt: number, afterMs: number): void {
    const disarm = this.#clock.alarm(changedAt + afterMs, () => this.#ring(sessionId, afterMs))
    this.#watched.set(sessionId, { changedAt, disarm })
  }

  #ring(sessionId: string, afterMs: number): void {
    const watched = this.#watched.get(sessionId)
    this.#watched.delete(sessionId)
    if (!watched || !this.#processes.has(sessionId)) return
    if (this.#clock.now() < watched.changedAt + afterMs)
      return this.#watch(sessionId, watched.changedAt, afterMs)
    void this.#free(sessionId)
      .catch(this.#onError)
      .finally(() => {
        // It was busy, for example with a task in the background, and is looked at again.
        if (this.#processes.has(sessionId) && !this.#processes.stopped) this.changed(sessionId)
      })
  }
}
