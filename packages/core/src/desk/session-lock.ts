import { AskbackError } from '@askback/protocol'
import type { Clock } from '../clock.js'
import type { Store } from '../store/store.js'

/** A command that conflicts with others for longer than this fails with `unavailable`, in milliseconds. */
const MAX_CONFLICT_MS = 5000
/** After this many conflicts a command locks the session in a shared store. */
const CONFLICTS_BEFORE_LOCK = 2
/** If an append takes longer, gateways with faster connections would win every time: lock after the first conflict. */
const SLOW_APPEND_MS = 100
/** Lifetime of the lock: enough for a read and an append over a connection with a second of latency. */
const LOCK_MS = 4000
const LOCKED_PAUSE_MS = 50

/**
 * Per session, a queue of the commands that had a conflict. While it is not empty, every command of the session enters it, so that
 * within this process they run one after the other.
 */
export class SessionQueue {
  readonly #last = new Map<string, Promise<void>>()

  has(sessionId: string): boolean {
    return this.#last.size > 0 && this.#last.has(sessionId)
  }

  /** Resolves when it is the caller's turn, with the function that ends the turn. */
  async enter(sessionId: string): Promise<() => void> {
    const before = this.#last.get(sessionId)
    let leave = () => {}
    const held = new Promise<void>((resolve) => (leave = resolve))
    const last = before ? before.then(() => held) : held
    this.#last.set(sessionId, last)
    await before
    return () => {
      leave()
      if (this.#last.get(sessionId) === last) this.#last.delete(sessionId)
    }
  }
}

export interface ContentionPorts {
  store: Store
  clock: Clock
  queue: SessionQueue
  newId: () => string
  /** Keeps the session in memory. */
  hold(sessionId: string): () => void
  /** Calls `listener` when the session's log advances, until the returned function is called. */
  onAdvance(sessionId: string, listener: () => void): () => void
}

/** How one command gets its turn when others write to the same session: first the queue of this process, then the lock of the store. */
export class Contention {
  readonly #ports: ContentionPorts
  readonly #sessionId: string
  #conflicts = 0
  /** When it first had to wait, for the queue or for another writer. */
  #since: number | null = null
  #leaveQueue: (() => void) | null = null
  #releaseHold: (() => void) | null = null
  #lockOwner: string | undefined

  constructor(ports: ContentionPorts, sessionId: string) {
    this.#ports = ports
    this.#sessionId = sessionId
  }

  /** The owner of the store's lock, if this command has it. */
  get lockOwner(): string | undefined {
    return this.#lockOwner
  }

  /** Whether the command had to wait, so that `end` has something to release. */
  get hasWaited(): boolean {
    return this.#since !== null
  }

  /** Whether the command may continue without waiting. */
  get isFree(): boolean {
    return this.#leaveQueue !== null || !this.#ports.queue.has(this.#sessionId)
  }

  /** Resolves when it is this command's turn. */
  async enter(): Promise<void> {
    this.#since ??= this.#ports.clock.now()
    this.#leaveQueue ??= await this.#ports.queue.enter(this.#sessionId)
  }

  /** Called when the log changed before the command was written. Resolves when it may be decided again. */
  async overtaken({ isLocked = false, sentAt }: { isLocked?: boolean; sentAt?: number } = {}): Promise<void> {
    const { clock, store } = this.#ports
    const isSlow = sentAt !== undefined && clock.now() - sentAt > SLOW_APPEND_MS
    // Otherwise the session could be evicted again and again before the command is decided.
    if (this.#conflicts++ === 0) this.#releaseHold = this.#ports.hold(this.#sessionId)
    await this.enter()
    if (isLocked) await this.#pause()
    this.#checkTime()
    if (!store.shared || !store.locks || (this.#conflicts < CONFLICTS_BEFORE_LOCK && !isSlow)) return
    const owner = this.#lockOwner ?? this.#ports.newId()
    while (!(await store.locks.acquire(this.#sessionId, owner, LOCK_MS))) {
      await this.#pause()
      this.#checkTime()
    }
    this.#lockOwner = owner
  }

  /** Lets the next command run. A successful append has released the store's lock. */
  async end(isWritten: boolean): Promise<void> {
    this.#leaveQueue?.()
    this.#releaseHold?.()
    const owner = this.#lockOwner
    this.#lockOwner = undefined
    // If that fails, the lock expires.
    if (owner !== undefined && !isWritten)
      await this.#ports.store.locks?.release(this.#sessionId, owner).catch(() => undefined)
  }

  #checkTime(): void {
    const now = this.#ports.clock.now()
    if (now - (this.#since ?? now) < MAX_CONFLICT_MS) return
    throw new AskbackError(
      'unavailable',
      'This session is being written to by others all the time. Try again with the same idempotency key.',
    )
  }

  async #pause(): Promise<void> {
    const { clock } = this.#ports
    let disarm = () => {}
    let stopListening = () => {}
    await new Promise<void>((resolve) => {
      stopListening = this.#ports.onAdvance(this.#sessionId, resolve)
      disarm = clock.alarm(clock.now() + LOCKED_PAUSE_MS, resolve)
    })
    disarm()
    stopListening()
  }
}
