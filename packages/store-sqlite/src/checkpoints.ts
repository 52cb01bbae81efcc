import { AskbackError } from '@askback/protocol'
import type { GroupCommit } from './group-commit.js'
import { openJournal } from './journal.js'
import type { OpenDatabase } from './open.js'

export interface CheckpointOptions {
  /** After how many milliseconds at most a write is in the main file. */
  everyMs: number
  /** With how many pages in the journal a checkpoint starts earlier. */
  maxFrames: number
  /** Called before each checkpoint that the timer or a long journal started. If it fails, the checkpoint happens all the same. */
  prepare?: () => Promise<void>
}

export interface Checkpoints {
  /** To be called after each commit. */
  committed(): void
  /** Empties the journal, so that erased text is not left in it. */
  truncate(): Promise<void>
  /** Runs `work` while the main file does not change and has everything that was committed before. Commits continue. */
  hold(work: () => Promise<void>): Promise<void>
  stop(): void
}

/**
 * 16 MB. Each append writes a page of every index, mostly the same pages again. A lower limit moves these pages more often, a
 * higher one leaves a larger journal for the next start to read.
 */
export const DEFAULT_MAX_FRAMES = 4000
export const DEFAULT_EVERY_MS = 5000
/** The length of the journal is read once in so many commits. */
const COMMITS_PER_LENGTH_CHECK = 8

/**
 * Moves the content of the journal into the main file: some time after the first write that is only in the journal, or earlier if
 * the journal is long. A checkpoint runs in another thread between two transactions, so the event loop continues while writers
 * wait. No other connection reads from the journal, so each checkpoint is complete, and the next commit writes the journal from its
 * beginning again.
 */
export function startCheckpoints(
  db: OpenDatabase,
  group: () => GroupCommit,
  { everyMs, maxFrames, prepare }: CheckpointOptions,
): Checkpoints {
  const journal = openJournal(db.path)
  let timer: NodeJS.Timeout | null = null
  let commits = 0
  let markSyncedAt = performance.now()
  let isRequested = false
  let isStopped = false
  /** After a failure only the timer tries again. Otherwise a long journal would cause an attempt after every commit. */
  let isFailing = false
  /** Resolves when `hold` ends. */
  let held: Promise<void> | null = null

  /** Waits while the main file is held. A hold may begin before the transaction queue is free, so it is tested again there. */
  async function checkpoint(mode: 'PASSIVE' | 'TRUNCATE', then: () => void = () => undefined): Promise<void> {
    let isDone = false
    while (!isDone) {
      await held
      if (isStopped) throw new AskbackError('unavailable', 'The store is closed.')
      isDone = await group().runExclusive(async () => {
        if (held) return false
        await db.execAside(`PRAGMA wal_checkpoint(${mode})`)
        journal.checkpointed()
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
    Promise.resolve(prepare?.())
      // For example on a full disk, where only a checkpoint makes room in the journal.
      .catch(() => undefined)
      .then(() => checkpoint('PASSIVE'))
      .finally(() => (isRequested = false))
      .then(() => {
        isFailing = false
        return syncMark()
      })
      // For example on a full disk. The journal still has everything. After a failed sync the group commit writes nothing more.
      .catch(() => {
        isFailing = true
        startTimer()
      })
  }

  /** At most once in `everyMs`: under load there are many checkpoints per second, and each sync delays those of the commits. */
  async function syncMark(): Promise<void> {
    const now = performance.now()
    if (now - markSyncedAt < everyMs) return
    markSyncedAt = now
    await db.mark.sync()
  }

  function startTimer(): void {
    if (isStopped) return
    timer ??= setTimeout(request, everyMs).unref()
  }

  return {
    committed() {
      if (isStopped) return
      startTimer()
      commits += 1
      if (commits % COMMITS_PER_LENGTH_CHECK === 0 && !isFailing && journal.hasFrames(maxFrames)) request()
    },
    truncate: () => checkpoint('TRUNCATE'),
    async hold(work) {
      let release: () => void = () => undefined
      await checkpoint('PASSIVE', () => {
        held = new Promise((resolve) => (release = resolve))
      })
      try {
        await work()
      } finally {
        held = null
        release()
      }
    },
    stop() {
      if (timer) clearTimeout(timer)
      timer = null
      isStopped = true
      journal.close()
    },
  }
}
