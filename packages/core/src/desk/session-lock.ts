import { AskbackError } from '@askback/protocol'
import type { Clock } from '../clock.js'
import type { Store } from '../store/store.js'

/** A command that is overtaken for longer than this fails; its caller may try again. */
const MAX_CONFLICT_MS = 5000
/** After so many conflicts a command takes the lock of the store, where there is one. */
const CONFLICTS_BEFORE_LOCK = 2
/** Where an append takes as long, others that are nearer to the store would win every time: then the first conflict counts. */
const SLOW_APPEND_MS = 100
/** Long enough for a read and an append over a connection with a second of latency each. */
const LOCK_MS = 4000
const LOCKED_PAUSE_MS = 50

/**
 * The queue of commands that were overtaken in a session. While it is not empty, every command of the session waits in it,
 * so that within this process they run one after the other.
 */
export class SessionQueue {
  readonly #last = new Map<string, Promise<void>>()

  has(sessionId: string): boolean {
    return this.#last.size > 0 && this.#last.has(sessionId)
  }

  /** Resolves when it is the caller's turn, to what ends it. */
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
  /** Calls `heard` when something new is known of the session's log, until the returned function is called. */
  onAdvance(sessionId: string, heard: () => void): () => void
}

/** What one command does to get its turn when others write to the same session: queue here, then lock the store. */
export class Contention {
  readonly #ports: ContentionPorts
  readonly #sessionId: string
  #conflicts = 0
  /** When it first had to wait, in the queue or for another writer. */
  #since: number | null = null
  #leaveQueue: (() => void) | null = null
  #letGo: (() => void) | null = null
  #lockOwner: string | undefined

  constructor(ports: ContentionPorts, sessionId: string) {
    this.#ports = ports
    this.#sessionId = sessionId
  }

  /** The owner of the store's lock, if this command has it. */
  get lockOwner(): string | undefined {
    return this.#lockOwner
  }

  /** Whether the command may go on without waiting, which most do. */
  get isFree(): boolean {
    return this.#leaveQueue !== null || !this.#ports.queue.has(this.#sessionId)
  }

  /** Resolves when it is this command's turn. */
  async enter(): Promise<void> {
    this.#since ??= this.#ports.clock.now()
    this.#leaveQueue ??= await this.#ports.queue.enter(this.#sessionId)
  }

  /** The facts changed before the command was written. Resolves when it may decide again. */
  async overtaken({ isLocked = false, sentAt }: { isLocked?: boolean; sentAt?: number } = {}): Promise<void> {
    const { clock, store } = this.#ports
    const isSlow = sentAt !== undefined && clock.now() - sentAt > SLOW_APPEND_MS
    // Else other sessions could evict it again and again before it is decided.
    if (this.#conflicts++ === 0) this.#letGo = this.#ports.hold(this.#sessionId)
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

  /** Whoever waits goes on. The append that succeeded has released the store's lock. */
  async end(isWritten: boolean): Promise<void> {
    this.#leaveQueue?.()
    this.#letGo?.()
    const owner = this.#lockOwner
    this.#lockOwner = undefined
    // If that fails, it ends by itself.
    if (owner !== undefined && !isWritten)
      await this.#ports.store.locks?.release(this.#sessionId, owner).catch(() => undefined)
  }

  #checkTime(): void {
    const now = this.#ports.clock.now()
    if (now - (this.#since ?? now) < MAX_CONFLICT_MS) return
    throw new AskbackError(
      'unavailable',
      'Others write to this session without a pause. Try again with the same idempotency key.',
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
