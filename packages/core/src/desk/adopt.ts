import {
  AskbackError,
  type Actor,
  type AdoptBody,
  type AdoptedItem,
  type Interaction,
} from '@askback/protocol'
import { adoptionKey } from '../decide/adopt-command.js'
import { PastLog, type History } from '../decide/adopt-log.js'
import { pastCalls, place, type Placement } from '../decide/adopt-place.js'
import { optional } from '../optional.js'
import type { Store } from '../store/store.js'
import { allSessions, heldFor } from './adopt-held.js'
import type { Latecomers } from './adopt-late.js'
import { checkRoom, realCwdOf, withRoom } from './create-session.js'
import type { Engine } from './engine.js'

/**
 * Takes a session over that was run elsewhere: its history becomes the log of a session here, with what its scripts have
 * asked beside the calls that ran them. It is written part by part; whoever comes again, at the same time or after a crash,
 * goes on with the part that is next. `created` for the one who wrote the last.
 */
export async function adopt(
  engine: Engine,
  body: AdoptBody,
  { by, most, latecomers }: { by: Actor; most: number; latecomers: Latecomers },
): Promise<{ sessionId: string; created: boolean }> {
  const { store, clock } = engine.options
  const sessionId = idOf(body)
  const runsAs = await runsHere(engine, body, sessionId)
  if (runsAs !== null) return { sessionId: runsAs, created: false }
  let first = await nextItem(store, sessionId)
  if (first === null) return { sessionId, created: false }
  if (first === 0) checkRoom(engine, sessionId, { most, count: await store.countSessions() })
  const { agent, agentSessionId, cwd, title } = body
  const realCwd = await realCwdOf(engine, cwd)
  const items = timed(body.items, clock.now())
  const log = new PastLog({ sessionId, items, by, asked: await askedAt(store, body, items) })
  const startedAt = items[0]?.at ?? clock.now()
  const write = async (from: number) => {
    const part = log.part(from)
    const about = {
      agent,
      agentSessionId,
      startedAt,
      first: from,
      part,
      ...optional({ cwd, realCwd, title }),
    }
    const run = () => engine.run(sessionId, { type: 'adopt', ...about })
    const { events } = await (from === 0 ? withRoom(engine, sessionId, most, run) : run())
    const isWritten = events.length > 0
    if (isWritten) latecomers.follow(sessionId, part.late)
    return { isWritten, next: part.next }
  }
  while (first !== null) {
    const { isWritten, next } = await write(first)
    if (isWritten && next === null) return { sessionId, created: true }
    first = isWritten ? next : await nextItem(store, sessionId)
  }
  return { sessionId, created: false }
}

function idOf({ agent, agentSessionId }: AdoptBody): string {
  const sessionId = `${agent}.${agentSessionId}`
  if (/^[\w.:@-]{1,200}$/.test(sessionId)) return sessionId
  throw new AskbackError('invalid_request', 'The id of that session holds signs that no id here has.')
}

/** The first item that is not there yet; `null` if all are. */
async function nextItem(store: Store, sessionId: string): Promise<number | null> {
  const entry = await store.kv.get(adoptionKey(sessionId))
  if (entry) return (entry.value as { items: number }).items
  return (await store.session(sessionId)) ? null : 0
}

/** A session of this gateway's own agent is here already, under another id: two would write to one agent. */
async function runsHere(
  engine: Engine,
  { agent, agentSessionId, cwd }: AdoptBody,
  sessionId: string,
): Promise<string | null> {
  for await (const session of allSessions(engine.options.store)) {
    if (session.agent !== agent || session.cwd !== (cwd ?? null) || session.id === sessionId) continue
    const known = await engine.read(session.id, (state) => state.agentSessionId).catch(() => null)
    if (known === agentSessionId) return session.id
  }
  return null
}

async function askedAt(store: Store, body: AdoptBody, items: AdoptedItem[]): Promise<History['asked']> {
  const calls = pastCalls(items)
  const held = await heldFor(store, body, calls)
  const placed = place(calls, held)
  const asked = new Map<string, { interaction: Interaction; placement: Placement }[]>()
  for (const { interaction } of held) {
    const placement = placed.get(interaction.interactionId)
    if (!placement) continue
    const atCall = asked.get(placement.toolCallId)
    if (atCall) atCall.push({ interaction, placement })
    else asked.set(placement.toolCallId, [{ interaction, placement }])
  }
  return asked
}

/** An item without a time of its own has that of the one before; none is of the future. */
function timed(items: AdoptedItem[], now: number): AdoptedItem[] {
  let last = items.find(({ at }) => at > 0)?.at ?? now
  return items.map((item) => {
    last = Math.min(item.at > 0 ? item.at : last, now)
    return { ...item, at: last }
  })
}
