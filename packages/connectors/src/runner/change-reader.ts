import type { Change, Clock } from '@askback/core'
import type { ConnectorDesk } from './connector-desk.js'

/** Changes read with one query. */
const PAGE_SIZE = 200
/** So many changes may be in progress before no more are read. */
const MAX_IN_PROGRESS = 1000
/** Changes that need no work do not cost a write each: their cursor is saved after this time at the latest. */
const LAZY_SAVE_MS = 1000

export interface ChangeReaderOptions {
  desk: Pick<ConnectorDesk, 'changes' | 'onAppend'>
  clock: Clock
  /** How often to read without a doorbell, in milliseconds. */
  pollMs: number
  /** Starts the work for a change. Each promise resolves to false if its work was stopped before it was done. */
  handle: (change: Change) => Promise<boolean>[]
  saveCursor: (cursor: string) => Promise<void>
  onError: (error: unknown) => void
}

/**
 * Reads the change feed after a cursor on each doorbell and at each poll. Work for several changes runs at the same time, but
 * the saved cursor only advances over changes whose work is done. After a crash, unfinished work is therefore started again.
 */
export class ChangeReader {
  readonly #options: ChangeReaderOptions
  /** The cursor of the last change that was read. */
  #cursor = ''
  #reading: Promise<void> | null = null
  #mayHaveMore = false
  #isStopped = false
  #cancelPoll: () => void = () => undefined
  #unsubscribe: () => void = () => undefined

  /** Changes that were read, oldest first, up to the first one that is not done. */
  readonly #inProgress: { cursor: string; isDone: boolean }[] = []
  /** A cursor up to which all is done, and which is not saved yet. */
  #unsaved: string | null = null
  #saving: Promise<void> = Promise.resolve()
  #cancelLazySave: (() => void) | null = null

  constructor(options: ChangeReaderOptions) {
    this.#options = options
  }

  start(cursor: string): void {
    if (this.#isStopped) return
    this.#cursor = cursor
    this.#unsubscribe = this.#options.desk.onAppend(() => this.#readSoon())
    this.#readSoon()
  }

  /** Reads no more. Resolves when the current read has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelPoll()
    this.#unsubscribe()
    await this.#reading
  }

  /** Saves the cursor up to which all work is done. */
  async flush(): Promise<void> {
    this.#save()
    await this.#saving
  }

  #readSoon(): void {
    const { clock, pollMs, onError } = this.#options
    this.#mayHaveMore = true
    if (this.#reading || this.#isStopped) return
    this.#cancelPoll()
    this.#reading = this.#readPages()
      .catch(onError)
      .finally(() => {
        this.#reading = null
        if (this.#isStopped) return
        this.#cancelPoll = clock.alarm(clock.now() + pollMs, () => this.#readSoon())
      })
  }

  async #readPages(): Promise<void> {
    const { desk, handle } = this.#options
    while (this.#mayHaveMore && !this.#isStopped && this.#inProgress.length < MAX_IN_PROGRESS) {
      this.#mayHaveMore = false
      const changes = await desk.changes({ after: this.#cursor, limit: PAGE_SIZE })
      for (const change of changes) {
        this.#cursor = change.cursor
        this.#track(change.cursor, handle(change))
      }
      // A page can be shorter than the limit before the end of the feed, so only an empty page is the end.
      if (changes.length > 0) this.#mayHaveMore = true
    }
  }

  #track(cursor: string, work: Promise<boolean>[]): void {
    const { clock } = this.#options
    const change = { cursor, isDone: work.length === 0 }
    this.#inProgress.push(change)
    if (change.isDone) {
      this.#advance()
      this.#cancelLazySave ??= clock.alarm(clock.now() + LAZY_SAVE_MS, () => this.#save())
      return
    }
    void Promise.all(work).then((results) => {
      change.isDone = results.every(Boolean)
      if (!change.isDone) return
      this.#advance()
      this.#save()
    })
  }

  #advance(): void {
    while (this.#inProgress[0]?.isDone) this.#unsaved = this.#inProgress.shift()!.cursor
  }

  #save(): void {
    this.#cancelLazySave?.()
    this.#cancelLazySave = null
    const cursor = this.#unsaved
    if (cursor === null) return
    this.#unsaved = null
    const { saveCursor, onError } = this.#options
    this.#saving = this.#saving.then(() => saveCursor(cursor)).catch(onError)
  }
}
