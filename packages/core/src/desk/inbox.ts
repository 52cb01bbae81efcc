import { pageInput, type Interaction } from '@askback/protocol'
import { parseInput } from '../kinds/kinds.js'
import { optional } from '../optional.js'
import type { Store } from '../store/store.js'

/** A page of pending interactions, oldest first. */
export interface PendingPage {
  interactions: Interaction[]
  next: string | null
}

/** A page of what is pending in all sessions. */
export interface InboxPage extends PendingPage {
  /** Number of pending interactions on all pages. */
  total: number
  /** The same by session; sessions without pending interactions are left out. */
  perSession: Readonly<Record<string, number>>
}

export async function pendingPage(
  store: Store,
  filter: { sessionId?: string; after?: string; limit?: number },
  view: (item: Interaction) => Interaction,
): Promise<PendingPage> {
  const { limit = 100, ...rest } = optional(parseInput(pageInput, filter, 'the query'))
  const { items, next } = await store.pending({ ...rest, limit })
  return { interactions: items.map(view), next }
}

type PendingTotals = Readonly<Pick<InboxPage, 'total' | 'perSession'>>

/** A store may return the same map while nothing changes; copying the counts of ten thousand sessions per page is slow. */
const totalsByCounts = new WeakMap<ReadonlyMap<string, number>, PendingTotals>()

export async function pendingTotals(store: Store): Promise<PendingTotals> {
  const counts = await store.pendingCounts()
  const known = totalsByCounts.get(counts)
  if (known) return known
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const totals = { total, perSession: Object.fromEntries(counts) }
  totalsByCounts.set(counts, totals)
  return totals
}
