import {
  AskbackError,
  deliverInteraction,
  openInteraction,
  progressInteraction,
  settleInteraction,
  type AdoptBody,
  type Interaction,
} from '@askback/protocol'
import { NEAR_MS, type Held, type PastCall } from '../decide/adopt-place.js'
import { optional } from '../optional.js'
import type { SessionRow, Store } from '../store/store.js'

const PAGE = 1000

/** What was asked here and may belong to a history: in the named session, or in those of outside agents in its folder. */
export async function heldFor(
  store: Store,
  { from, cwd }: Pick<AdoptBody, 'from' | 'cwd'>,
  calls: readonly PastCall[],
): Promise<Held[]> {
  if (from !== undefined) {
    if (!(await store.session(from))) throw new AskbackError('not_found', `There is no session ${from}.`)
    return (await askedIn(store, from)).map((interaction) => ({ interaction, isNamed: true }))
  }
  if (cwd === undefined) return []
  const ids = new Set(calls.map(({ toolCallId }) => toolCallId))
  const times = calls.map(({ at }) => at)
  const [first, last] = [
    times.reduce((a, b) => Math.min(a, b), Infinity),
    calls.reduce((a, { endedAt }) => Math.max(a, endedAt), 0),
  ]
  const held: Held[] = []
  for await (const session of allSessions(store)) {
    if (session.agent !== null || !isWithin(cwd, session.cwd)) continue
    for (const interaction of await askedIn(store, session.id)) {
      const { toolCallId, requestedAt } = interaction
      const isNear = requestedAt >= first - NEAR_MS && requestedAt <= last + NEAR_MS
      if (ids.has(toolCallId) || isNear) held.push({ interaction, isNamed: false })
    }
  }
  return held
}

/** All of them, oldest first, but for those that another one took the place of. */
async function askedIn(store: Store, sessionId: string): Promise<Interaction[]> {
  const asked = new Map<string, Interaction>()
  const change = (id: string, next: (item: Interaction) => Interaction) => {
    const item = asked.get(id)
    if (item) asked.set(id, next(item))
  }
  for (let after = 0; ;) {
    const page = await store.read({ sessionId, after, limit: PAGE })
    for (const event of page) {
      if (event.type === 'interaction_request') asked.set(event.interactionId, openInteraction(event))
      else if (event.type === 'interaction_progress')
        change(event.interactionId, (item) => progressInteraction(item, event))
      else if (event.type === 'interaction_response')
        change(event.interactionId, (item) => settleInteraction(item, event))
      else if (event.type === 'interaction_delivered') change(event.interactionId, deliverInteraction)
    }
    if (page.length < PAGE) break
    after = page.at(-1)!.seq
  }
  return [...asked.values()].filter((item) => item.settlement !== 'superseded' && item.copyOf === undefined)
}

export async function* allSessions(store: Store): AsyncGenerator<SessionRow> {
  let after: string | undefined
  do {
    const page = await store.sessions({ limit: PAGE, ...optional({ after }) })
    yield* page.items
    after = page.next ?? undefined
  } while (after !== undefined)
}

/** By the names alone: the folder may be on another machine. */
function isWithin(folder: string, path: string | null): boolean {
  return path !== null && (path === folder || path.startsWith(`${folder.replace(/[/\\]$/, '')}/`))
}
