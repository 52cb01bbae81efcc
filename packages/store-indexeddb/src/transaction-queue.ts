import type { WriteTransaction } from './schema.js'
import { TABLES, type IdbDatabase } from './schema.js'

/** Gives out the positions of one transaction, which only grow. */
export class Positions {
  #last: number

  constructor(last: number) {
    this.#last = last
  }

  get last(): number {
    return this.#last
  }

  /** Returns the first of `count` new positions. */
  take(count = 1): number {
    this.#last += count
    return this.#last - count + 1
  }
}

/** A change to the database. It must await nothing but requests of the transaction, which would else commit. */
export type TransactionWork<T> = (tx: WriteTransaction, positions: Positions) => Promise<T>

interface PendingTransactionWork {
  /** Runs in a transaction; what it returned is kept until the commit. */
  run(tx: WriteTransaction, positions: Positions): Promise<void>
  resolve(): void
  reject(error: unknown): void
}

/** A tab that has the lock for longer is frozen, stopped in a debugger or hangs. */
const LOCK_WAIT_MS = 1000
/** After that, writes are not made to wait again for a while. */
const WITHOUT_LOCK_MS = 30_000

/**
 * Runs everything that was submitted during one transaction in the next one, so that under load one sync serves many writes. A
 * promise resolves after the commit, which is synced to the disk (`strict`). IndexedDB itself runs the transactions of all
 * tabs one after the other. The Web Lock only makes a tab wait for its turn before it decides what is in its transaction;
 * without it each tab would queue a transaction for what little it had at that time.
 */
export class TransactionQueue {
  readonly #database: () => IdbDatabase
  readonly #lockName: string
  /** When to ask for the lock again. */
  #lockFrom = 0
  #writes: PendingTransactionWork[] = []
  #running: Promise<void> | null = null

  constructor(database: () => IdbDatabase, lockName: string) {
    this.#database = database
    this.#lockName = lockName
  }

  submit<T>(change: TransactionWork<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let result: T
      this.#writes.push({
        async run(tx, positions) {
          result = await change(tx, positions)
        },
        resolve: () => resolve(result),
        reject,
      })
      this.#running ??= this.#run()
    })
  }

  /** Resolves when everything submitted has ended. */
  async drained(): Promise<void> {
    while (this.#running) await this.#running
  }

  async #run(): Promise<void> {
    // What is submitted in this turn shares the first transaction.
    await Promise.resolve()
    while (this.#writes.length > 0) await this.#inTurn(() => this.#flush(this.#writes.splice(0)))
    this.#running = null
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    // There are no locks in an insecure context. Then IndexedDB alone orders the transactions.
    const locks = globalThis.navigator?.locks
    if (!locks || Date.now() < this.#lockFrom) return work()
    const signal = AbortSignal.timeout(LOCK_WAIT_MS)
    let isStarted = false
    try {
      await locks.request(this.#lockName, { signal }, () => {
        isStarted = true
        return work()
      })
    } catch {
      // An opaque origin or a document that is going away gets no lock. `work` itself does not throw.
      if (signal.aborted) this.#lockFrom = Date.now() + WITHOUT_LOCK_MS
      if (!isStarted) await work()
    }
  }

  /** If a transaction of several writes fails, each gets one of its own: a write that is too large must not fail the small ones. */
  async #flush(group: PendingTransactionWork[]): Promise<void> {
    try {
      await this.#commit(group)
    } catch (error) {
      if (group.length > 1) for (const write of group) await this.#flush([write])
      else group[0]!.reject(error)
      return
    }
    for (const write of group) write.resolve()
  }

  async #commit(group: PendingTransactionWork[]): Promise<void> {
    const tx = this.#database().transaction(TABLES, 'readwrite', { durability: 'strict' })
    // Handled below; a request that fails rejects both its own promise and this one.
    tx.done.catch(() => undefined)
    try {
      const meta = tx.objectStore('meta')
      const positions = new Positions((await meta.get('sequence')) ?? 0)
      const before = positions.last
      for (const write of group) await write.run(tx, positions)
      if (positions.last !== before) await meta.put(positions.last, 'sequence')
      tx.commit()
    } catch (error) {
      throw await abort(tx, error)
    }
    await tx.done
  }
}

/** Returns why the transaction failed. An error of the whole transaction, such as a full disk, explains more than that of a request. */
async function abort(tx: WriteTransaction, error: unknown): Promise<unknown> {
  try {
    tx.abort()
  } catch {
    // A failed request has aborted it already.
  }
  await tx.done.catch(() => undefined)
  return error instanceof DOMException && error.name === 'AbortError' && tx.error ? tx.error : error
}
