import type { Connection } from './connection.js'
import { failure, type Outcome } from './failure.js'

export interface GroupCommit {
  /** Runs `write` in the next transaction; resolves after its commit. */
  submit<T>(write: () => T): Promise<T>
  /** Resolves when all that was submitted has ended. */
  drained(): Promise<void>
}

interface Job {
  run(): void
  resolve(): void
  reject(error: Error): void
}

/**
 * One transaction for all that was submitted in this turn of the event loop: under load one sync serves many, and a lone
 * write waits for nothing but the sync.
 */
export function groupCommit(db: Connection, onRollback: () => void): GroupCommit {
  let jobs: Job[] = []
  let drained = Promise.resolve()

  function schedule(): void {
    drained = new Promise((resolve) => {
      setImmediate(() => {
        const group = jobs
        jobs = []
        flush(group)
        resolve()
      })
    })
  }

  function flush(group: Job[]): void {
    let outcome: Outcome = 'not_written'
    try {
      db.begin()
      for (const job of group) job.run()
      outcome = 'unknown'
      db.commit()
    } catch (error) {
      rollback()
      for (const job of group) job.reject(failure(error, db.path, outcome))
      return
    }
    for (const job of group) job.resolve()
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
      if (jobs.length === 0) schedule()
      return new Promise<T>((resolve, reject) => {
        let result: T
        jobs.push({ run: () => (result = write()), resolve: () => resolve(result), reject })
      })
    },
    drained: () => drained,
  }
}
