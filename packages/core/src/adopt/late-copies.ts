import { AskbackError, type Interaction } from '@askback/protocol'
import { LATE_COPY_PREFIX, lateCopyKey, type LateCopy } from '../decide/adopt.js'
import type { AdoptionPorts } from './adoption.js'
import { copyEvents, copyId } from './history-log.js'

type TrackedCopy = LateCopy & { /** The adopted session. */ sessionId: string }

/**
 * An interaction that is pending when its session is adopted stays in its source session, where its caller waits and a person answers
 * it. This class follows those source sessions and adds a copy to the adopted session once an interaction is settled. A record in
 * the store per copy lets the next process continue.
 */
export class LateCopies {
  readonly #ports: AdoptionPorts
  readonly #bySource = new Map<string, Map<string, TrackedCopy>>()
  /** By source session: ends following it. */
  readonly #stops = new Map<string, () => void>()
  /** Source sessions are checked one after the other. */
  #queue: Promise<void> = Promise.resolve()

  constructor(ports: AdoptionPorts) {
    this.#ports = ports
  }

  /** Continues with the copies that the last process did not finish. */
  async start(): Promise<void> {
    if (this.#ports.isClosed()) return
    for (const { key, value } of await this.#ports.store.kv.list(LATE_COPY_PREFIX)) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `lateCopyWrite` writes these entries
      const late = value as unknown as LateCopy
      this.#track({ ...late, sessionId: key.slice(LATE_COPY_PREFIX.length, -late.interactionId.length - 1) })
    }
    for (const sourceId of this.#bySource.keys()) this.#check(sourceId)
  }

  follow(sessionId: string, copies: LateCopy[]): void {
    for (const late of copies) this.#track({ ...late, sessionId })
    // An interaction may have been settled after the history was made.
    for (const { sourceId } of copies) this.#check(sourceId)
  }

  #track(late: TrackedCopy): void {
    const ofSource = this.#bySource.get(late.sourceId) ?? new Map<string, TrackedCopy>()
    ofSource.set(lateCopyKey(late.sessionId, late.interactionId), late)
    this.#bySource.set(late.sourceId, ofSource)
  }

  #check(sourceId: string): void {
    if (!this.#bySource.has(sourceId)) return
    this.#queue = this.#queue
      .then(() => this.#addSettled(sourceId))
      .catch((error: unknown) => {
        if (!this.#ports.isClosed()) this.#ports.onError(error)
      })
  }

  async #addSettled(sourceId: string): Promise<void> {
    await this.#followSource(sourceId)
    const ofSource = this.#bySource.get(sourceId)
    for (const [key, late] of ofSource ?? []) {
      const item = await this.#lastVersion(late.interactionId)
      if (item?.status === 'pending') continue
      if (item) await this.#addCopy(item, late)
      const { kv } = this.#ports.store
      const entry = await kv.get(key)
      if (entry) await kv.put(key, null, entry.version)
      ofSource!.delete(key)
    }
    if (ofSource?.size !== 0) return
    this.#bySource.delete(sourceId)
    this.#stops.get(sourceId)?.()
    this.#stops.delete(sourceId)
  }

  /** Called before the interactions are read: one that is settled in between triggers another check. */
  async #followSource(sourceId: string): Promise<void> {
    if (this.#stops.has(sourceId)) return
    const check = () => this.#check(sourceId)
    try {
      const { stop } = await this.#ports.follow(sourceId, { advanced: check, gone: check })
      this.#stops.set(sourceId, stop)
    } catch (error) {
      // The source session was deleted, and its interactions with it.
      if (!(error instanceof AskbackError) || error.code !== 'not_found') throw error
    }
  }

  /** The interaction, or the one that superseded it last (L6). */
  async #lastVersion(interactionId: string): Promise<Interaction | null> {
    const { store } = this.#ports
    let item = await store.interaction(interactionId)
    while (item?.supersededBy !== undefined) item = await store.interaction(item.supersededBy)
    return item
  }

  async #addCopy(item: Interaction, { sessionId, placement, turnId }: TrackedCopy): Promise<void> {
    const interactionId = copyId(sessionId, item.interactionId)
    const events = copyEvents(item, { sessionId, placement, turnId })
    try {
      await this.#ports.run(sessionId, { type: 'add_copy', interactionId, events })
    } catch (error) {
      // The adopted session was deleted.
      if (!(error instanceof AskbackError) || error.code !== 'not_found') throw error
    }
  }
}
