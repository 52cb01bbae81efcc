import type { Kv } from '@askback/core'

const KEPT = 200

/** Telegram sends an update again if it is not sure that we got it. Each counts once, in whatever order. */
export class SeenUpdates {
  readonly #kv: Kv
  readonly #key: string
  #ids: number[] = []
  #writing: Promise<void> = Promise.resolve()

  constructor(kv: Kv, connectorId: string) {
    this.#kv = kv
    this.#key = `connector/${connectorId}/updates`
  }

  async load(): Promise<void> {
    this.#ids = ((await this.#kv.get(this.#key))?.value as number[] | undefined) ?? []
  }

  /** Whether it is new; from now on it is not. */
  take(id: number): boolean {
    if (this.#ids.includes(id)) return false
    this.#ids = [...this.#ids, id].slice(-KEPT)
    return true
  }

  save(): Promise<void> {
    this.#writing = this.#writing
      .catch(() => undefined)
      .then(async () => {
        const entry = await this.#kv.get(this.#key)
        await this.#kv.put(this.#key, this.#ids, entry?.version ?? null)
      })
    return this.#writing
  }
}
