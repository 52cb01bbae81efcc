import type { Append, Change, ChangeNotice, Store } from '@askback/core'
import type { Random } from './random.js'

interface StoredChange {
  position: number
  sessionId: string
  /** `null` for an erasure. */
  append: Append | null
  logId: string | null
}

/**
 * The change list of a store that several processes share: commits and erasures in order, without the commits of erased logs. A
 * page may be shorter than its limit; only an empty page means the end.
 */
export class SharedChanges {
  readonly #random: Random
  readonly #shortPages: number
  #changes: StoredChange[] = []
  #position = 0

  constructor(random: Random, shortPages: number) {
    this.#random = random
    this.#shortPages = shortPages
  }

  committed(append: Append, logId: string): void {
    this.#changes.push({ position: ++this.#position, sessionId: append.sessionId, append, logId })
  }

  erased(sessionId: string): void {
    this.#changes = this.#changes.filter(({ append, ...change }) => !append || change.sessionId !== sessionId)
    this.#changes.push({ position: ++this.#position, sessionId, append: null, logId: null })
  }

  changes({ after = '0', limit }: Parameters<Store['changes']>[0]): Promise<Change[]> {
    const page = this.#page(after, limit).map(({ position, sessionId, append }) => ({
      cursor: String(position),
      sessionId,
      events: append ? [...append.events] : [],
    }))
    const isShort = page.length > 1 && this.#random.chance(this.#shortPages)
    return Promise.resolve(isShort ? page.slice(0, this.#random.between(1, page.length - 1)) : page)
  }

  /**
   * The last position of each session in the page, and how far its log reaches there. If a session was created again after its
   * erasure, a store may leave out the erasure, so this sometimes does.
   */
  changedSessions({ after, limit }: { after: string; limit: number }): Promise<ChangeNotice[]> {
    const page = this.#page(after, limit)
    const last = new Map(
      page.flatMap((change) => (change.append ? [[change.sessionId, change] as const] : [])),
    )
    const isTerse = this.#random.chance(0.5)
    const rows = page.filter((change) => {
      const isAppend = change.append !== null || (isTerse && last.has(change.sessionId))
      return !isAppend || last.get(change.sessionId) === change
    })
    return Promise.resolve(
      rows.map(({ position, sessionId, append, logId }) => ({
        cursor: String(position),
        sessionId,
        ...(append && logId !== null && { reaches: { logId, seq: append.events.at(-1)!.seq } }),
      })),
    )
  }

  head(): Promise<string> {
    return Promise.resolve(String(this.#changes.at(-1)?.position ?? 0))
  }

  #page(after: string, limit: number): StoredChange[] {
    return this.#changes.filter(({ position }) => position > Number(after)).slice(0, limit)
  }
}
