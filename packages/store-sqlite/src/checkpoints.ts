import { AskbackError } from '@askback/protocol'
import type { GroupCommit } from './group-commit.js'
import { journal } from './journal.js'
import type { OpenDatabase } from './open.js'

export interface CheckpointOptions {
  /** How long after a write the main file holds it, at the latest, in milliseconds. */
  everyMs: number
  /** How many pages the journal may hold before that. */
  frames: number
}

export interface Checkpoints {
  /** After each commit. */
  committed(): void
  /** Empties the journal: nothing that was erased stays behind in it. */
  truncate(): Promise<void>
  /** Runs `work` while the main file stays as it is, with everything in it that was committed before. Commits go on. */
  hold(work: () => Promise<void>): Promise<void>
  stop(): void
}

/**
 * 16 MB: an append touches a page of every index, and most of them again before they need to be written back. A lower
 * limit writes the same pages more often, a higher one leaves more in the journal for the next start to read.
 */
export const DEFAULT_FRAMES = 4000
export const DEFAULT_EVERY_MS = 5000
/** Commits: looking how long the journal is costs a read. */
const LOOK_EVERY = 8

/**
 * Moves what is in the journal into the main file: a while after the first write that is not there yet, and before that
 * once the journal is long. It runs between two transactions on another thread, so the event loop goes on, and writers
 * wait for as long as it takes. There is no other connection, so nobody reads from the journal and each checkpoint is
 * complete; the next commit then writes the journal from its beginning again.
 */
export function checkpoints(
  db: OpenDatabase,
  group: () => GroupCommit,
  { everyMs, frames }: CheckpointOptions,
): Checkpoints {
  const wal = journal(db.path)
  let timer: NodeJS.Timeout | null = null
  let commits = 0
  let markSyncedAt = performance.now()
  let isRequested = false
  let isStopped = false
  /** Then only the time asks again: a journal that is long would do so after every commit. */
  let isFailing = false
  let holding: Promise<void> | null = null

  /** Not while the main file is held: whoever asks waits, and asks again. */
  async function checkpoint(mode: 'PASSIVE' | 'TRUNCATE', then: () => void = () => undefined): Promise<void> {
    let isDone = false
    while (!isDone) {
      await holding
      if (isStopped) throw new AskbackError('unavailable', 'The store is closed.')
      isDone = await group().alone(async () => {
        if (holding) return false
        await db.execAside(`PRAGMA wal_checkpoint(${mode})`)
        wal.checkpointed()
        then()
        return true
      })
    }
  }

  function request(): void {
    if (isRequested || isStopped) return
    isRequested = true
    if (timer) clearTimeout(timer)
    timer = null
    checkpoint('PASSIVE')
      .finally(() => (isRequested = false))
      .then(() => {
        isFailing = false
        return syncMark()
      })
      // On a full disk, say: the journal has it all. A failed sync has stopped the writing by now.
      .catch(() => {
        isFailing = true
        arm()
      })
  }

  /** Under load checkpoints come many times a second, and a sync beside those of the commits slows them down. */
  async function syncMark(): Promise<void> {
    const now = performance.now()
    if (now - markSyncedAt < everyMs) return
    markSyncedAt = now
    await db.mark.sync()
  }

  function arm(): void {
    if (isStopped) return
    timer ??= setTimeout(request, everyMs).unref()
  }

  return {
    committed() {
      if (isStopped) return
      arm()
      commits += 1
      if (commits % LOOK_EVERY === 0 && !isFailing && wal.reaches(frames)) request()
    },
    truncate: () => checkpoint('TRUNCATE'),
    async hold(work) {
      let release: () => void = () => undefined
      await checkpoint('PASSIVE', () => {
        holding = new Promise((resolve) => (release = resolve))
      })
      try {
        await work()
      } finally {
        holding = null
        release()
      }
    },
    stop() {
      if (timer) clearTimeout(timer)
      timer = null
      isStopped = true
      wal.close()
    },
  }
}
