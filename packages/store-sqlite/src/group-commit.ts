import { failure, isFailedSync, type Outcome } from './failure.js'
import type { OpenDatabase } from './open.js'

export interface GroupCommit {
  /** Runs `write` in the next transaction; resolves after its commit. */
  submit<T>(write: () => T): Promise<T>
  /** Runs `work` between two transactions, with the connection to itself. */
  alone<T>(work: () => Promise<T>): Promise<T>
  /** While there is one, the connection is not this thread's: what is read waits for it. */
  readonly committing: Promise<void> | null
  /** Resolves when all that was submitted has ended. */
  drained(): Promise<void>
}

interface Job {
  run(): void
  resolve(): void
  reject(error: Error): void
}

export interface GroupCommitOptions {
  onRollback: () => void
  onCommit: () => void
  /** Inside a transaction that changed something: the place that shows later that it is there. */
  witness: () => number
  /** For a process with other work to do: where many wait, another thread waits for the disk. */
  aside: boolean
}

/** For fewer, the way to the other thread and back takes longer than the commit. */
const MANY = 4

/**
 * One transaction for all that was submitted since the last one: under load one sync serves many, and a lone write waits for
 * nothing but the sync. After a sync that failed nothing is written any more.
 */
export function groupCommit(
  db: OpenDatabase,
  { onRollback, onCommit, witness, aside }: GroupCommitOptions,
): GroupCommit {
  let jobs: Job[] = []
  const tasks: (() => Promise<void>)[] = []
  let running: Promise<void> | null = null
  let committing: Promise<void> | null = null
  let failedSync: { error: unknown } | null = null

  /** One transaction at a time; what comes meanwhile shares the next. */
  async function run(): Promise<void> {
    while (jobs.length > 0 || tasks.length > 0) {
      const task = tasks.shift()
      if (task) {
        await (committing = task())
        committing = null
        continue
      }
      await endOfTurn()
      const group = jobs
      jobs = []
      await flush(group)
    }
    running = null
  }

  function flush(group: Job[]): Promise<void> | undefined {
    let outcome: Outcome = 'not_written'
    let place: number | null = null
    const succeed = () => {
      committing = null
      if (place !== null) db.mark.note(place)
      onCommit()
      for (const job of group) job.resolve()
    }
    const fail = (error: unknown) => {
      committing = null
      noteFailedSync(error)
      rollback()
      for (const job of group) job.reject(failure(error, db.path, outcome))
    }
    try {
      if (failedSync) throw failedSync.error
      const before = db.changes()
      db.begin()
      for (const job of group) job.run()
      if (db.changes() !== before) place = witness()
      outcome = 'unknown'
      if (aside && group.length >= MANY) return (committing = db.commitAside().then(succeed, fail))
      db.commit()
    } catch (error) {
      fail(error)
      return undefined
    }
    succeed()
    return undefined
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
      // Then the next transaction cannot begin, and comes here again.
    }
  }

  return {
    submit<T>(write: () => T) {
      return new Promise<T>((resolve, reject) => {
        let result: T
        jobs.push({ run: () => (result = write()), resolve: () => resolve(result), reject })
        running ??= run()
      })
    },
    alone<T>(work: () => Promise<T>) {
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
