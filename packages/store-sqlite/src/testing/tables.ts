import type { Store } from '@askback/core'
import { checkDatabase } from '../deep-check.js'

/** What a deep check of a database that nobody uses finds. */
export function findings(at: string): string[] {
  const found: string[] = []
  checkDatabase(at, (finding) => found.push(finding))
  return found
}

/** Everything that the tables say, without positions, which each store chooses by itself. */
export async function contentOf(
  store: Store,
  { sessions, ids }: { sessions: readonly string[]; ids: readonly string[] },
): Promise<unknown> {
  const pages = async () => {
    const rows = []
    for (let after: string | null = '0'; after !== null;) {
      const page: Awaited<ReturnType<Store['audit']>> = await store.audit({ after, limit: 2 })
      rows.push(...page.items)
      after = page.next
    }
    return rows
  }
  return {
    sessions: (await store.sessions({ limit: 100 })).items,
    old: (await store.sessions({ limit: 100, updatedBefore: 0 })).items,
    pending: (await store.pending({ limit: 100 })).items,
    interactions: await Promise.all(ids.map((id) => store.interaction(id))),
    calls: await Promise.all(sessions.flatMap((name) => ids.map((id) => store.toolCall(name, `call-${id}`)))),
    counts: [await store.countPending(), Object.fromEntries(await store.pendingCounts())],
    deadlines: (await store.deadlines()).toSorted((x, y) => (x.interactionId < y.interactionId ? -1 : 1)),
    audit: await pages(),
  }
}
