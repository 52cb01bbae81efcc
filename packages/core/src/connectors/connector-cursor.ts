import type { Clock } from '../clock.js'

const LAZY_MS = 1000

/** How far everything is done: what is saved never runs ahead of work that is still under way. */
export class ConnectorCursor {
  readonly #clock: Clock
  readonly #save: (cursor: string) => Promise<void>
  readonly #onError: (error: unknown) => void
  readonly #open: { cursor: string; done: boolean }[] = []
  #reached: string | null = null
  #saving: Promise<void> = Promise.resolve()
  #disarm: (() => void) | null = null

  constructor(clock: Clock, save: (cursor: string) => Promise<void>, onError: (error: unknown) => void) {
    this.#clock = clock
    this.#save = save
    this.#onError = onError
  }

  get outstanding(): number {
    return this.#open.length
  }

  add(cursor: string, jobs: Promise<boolean>[]): void {
    const entry = { cursor, done: jobs.length === 0 }
    this.#open.push(entry)
    if (entry.done) return this.#advance(false)
    void Promise.all(jobs).then((results) => {
      entry.done = results.every(Boolean)
      if (entry.done) this.#advance(true)
    })
  }

  async stop(): Promise<void> {
    this.#disarm?.()
    this.#flush()
    await this.#saving
  }

  #advance(now: boolean): void {
    while (this.#open[0]?.done) this.#reached = this.#open.shift()!.cursor
    if (now) this.#flush()
    // Most of what happens is nothing for us: that is not worth a write each.
    else this.#disarm ??= this.#clock.alarm(this.#clock.now() + LAZY_MS, () => this.#flush())
  }

  #flush(): void {
    this.#disarm?.()
    this.#disarm = null
    const cursor = this.#reached
    if (cursor === null) return
    this.#reached = null
    this.#saving = this.#saving.then(() => this.#save(cursor)).catch(this.#onError)
  }
}
