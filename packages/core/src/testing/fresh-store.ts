import { afterEach, beforeEach } from 'vitest'
import type { Change, Store } from '../store/store.js'

export type CreateStore = () => Store | Promise<Store>

/** A store for each test, under one name. Closing twice is allowed, so a test may close it itself. */
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

/** Every item of a paged query, page by page. */
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

/** Without the erasures, which only a store that others write to tells of. */
export async function appendsAfter(
  store: Store,
  query: { after?: string; limit: number },
): Promise<Change[]> {
  const changes = await store.changes(query)
  return store.shared ? changes.filter(({ events }) => events.length > 0) : changes
}
