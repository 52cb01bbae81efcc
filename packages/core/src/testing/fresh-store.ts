import { afterEach, beforeEach } from 'vitest'
import type { Change, Store } from '../store/store.js'

export type CreateStore = () => Store | Promise<Store>

/** Creates and closes a store for each test, and returns the present one. A test may close it itself, because closing twice is allowed. */
export function freshStore(createStore: CreateStore): () => Store {
  let store: Store | undefined
  beforeEach(async () => {
    store = await createStore()
  })
  afterEach(async () => {
    await store?.close()
  })
  return () => {
    if (!store) throw new Error('The store exists only inside a test.')
    return store
  }
}

/** Reads all pages of a query. */
export async function allPages<Item>(
  query: (after: string | undefined) => Promise<{ items: Item[]; next: string | null }>,
): Promise<Item[]> {
  const items: Item[] = []
  let after: string | undefined
  for (;;) {
    const page = await query(after)
    items.push(...page.items)
    if (page.next === null) return items
    after = page.next
  }
}

/** Changes without erasures, which only a shared store reports. */
export async function appendsAfter(
  store: Store,
  query: { after?: string; limit: number },
): Promise<Change[]> {
  const changes = await store.changes(query)
  return store.shared ? changes.filter(({ events }) => events.length > 0) : changes
}
