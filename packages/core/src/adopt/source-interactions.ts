import {
  AskbackError,
  deliverInteraction,
  openInteraction,
  progressInteraction,
  settleInteraction,
  type AdoptBody,
  type Interaction,
} from '@askback/protocol'
import { optional } from '../optional.js'
import type { SessionRow, Store } from '../store/store.js'
import { MAX_GAP_MS, type PastCall, type SourceInteraction } from './placement.js'

const PAGE_SIZE = 1000

/**
 * Interactions of this store that may belong to a history: those of the session that the person named, else those that agents
 * outside of the gateway opened in the history's folder at about that time.
 */
export async function sourceInteractions(
  store: Store,
  { from, cwd }: Pick<AdoptBody, 'from' | 'cwd'>,
  calls: readonly PastCall[],
  mayRead: (sessionId: string) => Promise<boolean> | boolean = () => true,
): Promise<SourceInteraction[]> {
  if (from !== undefined) {
    if (!(await store.session(from)) || !(await mayRead(from)))
      throw new AskbackError('not_found', `There is no session ${from}.`)
    return (await interactionsIn(store, from)).map((interaction) => ({ interaction, isNamed: true }))
  }
  if (cwd === undefined) return []
  const ids = new Set(calls.map(({ toolCallId }) => toolCallId))
  const times = calls.map(({ at }) => at)
  const [first, last] = [
    times.reduce((a, b) => Math.min(a, b), Infinity),
    calls.reduce((a, { endedAt }) => Math.max(a, endedAt), 0),
  ]
  const found: SourceInteraction[] = []
  for await (const session of allSessions(store)) {
    if (session.agent !== null || !isWithin(cwd, session.cwd) || !(await mayRead(session.id))) continue
    for (const interaction of await interactionsIn(store, session.id)) {
      const { toolCallId, requestedAt } = interaction
      const isNear = requestedAt >= first - MAX_GAP_MS && requestedAt <= last + MAX_GAP_MS
      if (ids.has(toolCallId) || isNear) found.push({ interaction, isNamed: false })
    }
  }
  return found
}

/** All interactions of a session, oldest first, without superseded ones and copies. */
async function interactionsIn(store: Store, sessionId: string): Promise<Interaction[]> {
  const byId = new Map<string, Interaction>()
  const change = (id: string, next: (item: Interaction) => Interaction) => {
    const item = byId.get(id)
    if (item) byId.set(id, next(item))
  }
  for (let after = 0; ;) {
    const page = await store.read({ sessionId, after, limit: PAGE_SIZE })
    for (const event of page) {
      if (event.type === 'interaction_request') byId.set(event.interactionId, openInteraction(event))
      else if (event.type === 'interaction_progress')
        change(event.interactionId, (item) => progressInteraction(item, event))
      else if (event.type === 'interaction_response')
        change(event.interactionId, (item) => settleInteraction(item, event))
      else if (event.type === 'interaction_delivered') change(event.interactionId, deliverInteraction)
    }
    if (page.length < PAGE_SIZE) break
    after = page.at(-1)!.seq
  }
  return [...byId.values()].filter((item) => item.settlement !== 'superseded' && item.copyOf === undefined)
}

export async function* allSessions(store: Store): AsyncGenerator<SessionRow> {
  let after: string | undefined
  do {
    const page = await store.sessions({ limit: PAGE_SIZE, ...optional({ after }) })
    yield* page.items
    after = page.next ?? undefined
  } while (after !== undefined)
}

/** Compares the names only: the folder may be on another machine. */
function isWithin(folder: string, path: string | null): boolean {
  return path !== null && (path === folder || path.startsWith(`${folder.replace(/[/\\]$/, '')}/`))
}
