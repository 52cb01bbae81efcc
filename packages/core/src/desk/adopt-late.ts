import { AskbackError, type Interaction } from '@askback/protocol'
import { LATE_PREFIX, lateKey } from '../decide/adopt-command.js'
import { copyEvents, copyId, type Late } from '../decide/adopt-log.js'
import type { Engine } from './engine.js'

interface Followed extends Late {
  /** The adopted session. */
  sessionId: string
}

/**
 * What was still pending when a session was adopted stays where its asker waits, and is answered there once. When that has
 * happened, it is shown in the adopted session, too.
 */
export class Latecomers {
  readonly #engine: Engine
  readonly #bySource = new Map<string, Map<string, Followed>>()
  /** What ends following each source. */
  readonly #stops = new Map<string, () => void>()
  #last: Promise<void> = Promise.resolve()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** What the last process has left. */
  async start(): Promise<void> {
    if (this.#engine.closed) return
    for (const { key, value } of await this.#engine.options.store.kv.list(LATE_PREFIX)) {
      const late = value as unknown as Late
      this.#add({ ...late, sessionId: key.slice(LATE_PREFIX.length, -late.interactionId.length - 1) })
    }
    for (const sourceId of this.#bySource.keys()) this.#look(sourceId)
  }

  follow(sessionId: string, latecomers: Late[]): void {
    for (const late of latecomers) this.#add({ ...late, sessionId })
    // It may have been settled since it was looked for.
    for (const { sourceId } of latecomers) this.#look(sourceId)
  }

  #add(late: Followed): void {
    const ofSource = this.#bySource.get(late.sourceId) ?? new Map<string, Followed>()
    ofSource.set(lateKey(late.sessionId, late.interactionId), late)
    this.#bySource.set(late.sourceId, ofSource)
  }

  #look(sourceId: string): void {
    if (!this.#bySource.has(sourceId)) return
    this.#last = this.#last
      .then(() => this.#lookAt(sourceId))
      .catch((error: unknown) => {
        if (!this.#engine.closed) this.#engine.options.onError(error)
      })
  }

  async #lookAt(sourceId: string): Promise<void> {
    await this.#followSource(sourceId)
    const ofSource = this.#bySource.get(sourceId)
    for (const [key, late] of ofSource ?? []) {
      const item = await this.#outcome(late.interactionId)
      if (item?.status === 'pending') continue
      if (item) await this.#place(item, late)
      const { kv } = this.#engine.options.store
      const entry = await kv.get(key)
      if (entry) await kv.put(key, null, entry.version)
      ofSource!.delete(key)
    }
    if (ofSource?.size !== 0) return
    this.#bySource.delete(sourceId)
    this.#stops.get(sourceId)?.()
    this.#stops.delete(sourceId)
  }

  /** Before it is looked at, so that nothing can settle unseen in between. */
  async #followSource(sourceId: string): Promise<void> {
    if (this.#stops.has(sourceId)) return
    const look = () => this.#look(sourceId)
    try {
      const { stop } = await this.#engine.follow(sourceId, { advanced: look, gone: look })
      this.#stops.set(sourceId, stop)
    } catch (error) {
      // Deleted: what was asked in it is gone, too.
      if (!(error instanceof AskbackError) || error.code !== 'not_found') throw error
    }
  }

  /** As it ended, perhaps as another one that took its place (L6). */
  async #outcome(interactionId: string): Promise<Interaction | null> {
    const { store } = this.#engine.options
    let item = await store.interaction(interactionId)
    while (item?.supersededBy !== undefined) item = await store.interaction(item.supersededBy)
    return item
  }

  async #place(item: Interaction, { sessionId, placement, turnId }: Followed): Promise<void> {
    const interactionId = copyId(sessionId, item.interactionId)
    const events = copyEvents(item, { sessionId, placement, turnId })
    try {
      await this.#engine.run(sessionId, { type: 'place', interactionId, events })
    } catch (error) {
      // Deleted in the meantime: there is nothing to show it in.
      if (!(error instanceof AskbackError) || error.code !== 'not_found') throw error
    }
  }
}
