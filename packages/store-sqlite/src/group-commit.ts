import type { WriteOutcome } from '@askback/core/store'
import { failure, isFailedSync } from './failure.js'
import type { OpenDatabase } from './open.js'

export interface GroupCommit {
  /** Runs `write` in the next transaction; resolves after its commit. */
  submit<T>(write: () => T): Promise<T>
  /** Runs `work` between two transactions, while nothing else uses the connection. */
  runExclusive<T>(work: () => Promise<T>): Promise<T>
  /**
   * Runs `work` at once in a transaction of its own, for changes that the next start can make again: it is committed without a
   * sync. If it cannot be committed, for example on a full disk, it is rolled back and the result is returned all the same.
   */
  runUnsynced<T>(work: () => T): T
  /** Set while another thread uses the connection. Reads must wait for it. */
  readonly committing: Promise<void> | null
  /** Resolves when everything submitted has ended. */
  drained(): Promise<void>
}

interface SubmittedWrite {
  run(): void
  resolve(): void
  reject(error: Error): void
}

export interface GroupCommitOptions {
  onRollback: () => void
  onCommit: () => void
  /** Called at the end of each transaction, inside it. */
  beforeCommit: () => void
  /** Called inside a transaction that changed something. Returns the position of the transaction, for the mark. */
  positionOf: () => number
  /** Whether large transactions are committed in another thread. */
  aside: boolean
}

/** For fewer writes, switching to another thread takes longer than the commit. */
const MIN_WRITES_ASIDE = 4

/**
 * Runs everything that was submitted during one transaction in the next one. So under load one sync serves many writes, and a
 * single write waits only for its own sync. If a transaction fails, all of its writes fail. After a failed sync nothing more is
 * written.
 */
export function groupCommit(
  db: OpenDatabase,
  { onRollback, onCommit, beforeCommit, positionOf, aside }: GroupCommitOptions,
): GroupCommit {
  let writes: SubmittedWrite[] = []
  const tasks: (() => Promise<void>)[] = []
  let running: Promise<void> | null = null
  let committing: Promise<void> | null = null
  let failedSync: { error: unknown } | null = null
  /** False during `runUnsynced`, and after it if the connection was left in a transaction, where this cannot be changed. */
  let isSynced = true

  /** Runs one transaction after the other, and tasks between them, until nothing is left. */
  async function run(): Promise<void> {
    while (writes.length > 0 || tasks.length > 0) {
      const task = tasks.shift()
      if (task) {
        await (committing = task())
        committing = null
        continue
      }
      await endOfTurn()
      const group = writes
      writes = []
      await flush(group)
    }
    running = null
  }

  function flush(group: SubmittedWrite[]): Promise<void> | undefined {
    let outcome: WriteOutcome = 'not_written'
    let position: number | null = null
    const succeed = () => {
      committing = null
      if (position !== null) db.mark.note(position)
      onCommit()
      for (const write of group) write.resolve()
    }
    const fail = (error: unknown) => {
      committing = null
      noteFailedSync(error)
      rollback()
      for (const write of group) write.reject(failure(error, db.path, outcome))
    }
    try {
      if (failedSync) throw failedSync.error
      if (!isSynced) setSync(true)
      const before = db.changes()
      db.begin()
      for (const write of group) write.run()
      beforeCommit()
      if (db.changes() !== before) position = positionOf()
      outcome = 'unknown'
      if (aside && group.length >= MIN_WRITES_ASIDE)
        return (committing = db.commitInThread().then(succeed, fail))
      db.commit()
    } catch (error) {
      fail(error)
      return undefined
    }
    succeed()
    return undefined
  }

  function setSync(isOn: boolean): void {
    db.setSync(isOn)
    isSynced = isOn
  }

  function restoreSync(): void {
    try {
      setSync(true)
    } catch {
      // After a failed rollback. Then the next transaction sets it before it begins, or fails.
    }
  }

  function commitIfPossible(): void {
    try {
      if (failedSync) throw failedSync.error
      db.commit()
    } catch (error) {
      noteFailedSync(error)
      rollback()
      return
    }
    onCommit()
  }

  function noteFailedSync(error: unknown): void {
    if (failedSync || !isFailedSync(error)) return
    failedSync = { error }
    db.abandon()
  }

  function rollback(): void {
    onRollback()
    try {
      db.rollback()
    } catch {
      // Then the next transaction cannot begin, and fails the same way.
    }
  }

  return {
    submit<T>(write: () => T) {
      return new Promise<T>((resolve, reject) => {
        let result: T
        writes.push({ run: () => (result = write()), resolve: () => resolve(result), reject })
        running ??= run()
      })
    },
    runExclusive<T>(work: () => Promise<T>) {
      return new Promise<T>((resolve, reject) => {
        tasks.push(async () => {
          try {
            if (failedSync) throw failedSync.error
            resolve(await work())
          } catch (error) {
            noteFailedSync(error)
            reject(failure(error, db.path))
          }
        })
        running ??= run()
      })
    },
    runUnsynced<T>(work: () => T) {
      setSync(false)
      try {
        db.begin()
        const result = work()
        commitIfPossible()
        return result
      } catch (error) {
        rollback()
        throw error
      } finally {
        restoreSync()
      }
    },
    get committing() {
      return committing
    },
    async drained() {
      await running
    },
  }
}

function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
