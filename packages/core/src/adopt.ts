import {
  AskbackError,
  type Actor,
  type AdoptBody,
  type AdoptedItem,
  type Interaction,
  type NewEvent,
} from '@askback/protocol'
import { scoreCall } from './rendezvous.js'
import { optional } from './optional.js'
import type { Store } from './store.js'
import { replay } from './session-log.js'

const PAGE = 500
/** A score that names tool and operation. */
const SURE = 3
/** How far from its call an interaction may be that only names it. */
const NEAR_MS = 60_000

type Call = Extract<AdoptedItem, { type: 'tool_call' }>

/**
 * Takes a session over that was run elsewhere: its history becomes the log of a session here, with what its scripts have asked
 * beside the calls that ran them. A second time nothing is written.
 */
export async function adopt(
  store: Store,
  adoption: AdoptBody,
  { by, newId, now }: { by: Actor; newId: () => string; now: number },
): Promise<{ sessionId: string; created: boolean }> {
  const sessionId = `${adoption.agent}.${adoption.agentSessionId}`
  if (!/^[\w.:@-]{1,200}$/.test(sessionId))
    throw new AskbackError('invalid_request', 'The id of that session holds signs that no id here has.')
  if (await store.session(sessionId)) return { sessionId, created: false }
  const placed = place(adoption, await heldFor(store, adoption))
  const events = logOf(adoption, placed, { by, newId, now }).map(({ at, event }, index) => ({
    ...event,
    seq: index + 1,
    id: newId(),
    sessionId,
    at,
  }))
  const { ok } = await store.append({ sessionId, expectedSeq: 0, events })
  return { sessionId, created: ok }
}

/** What is settled here and may belong to it: in the named session, or in those of outside agents in the same folder. */
async function heldFor(store: Store, { from, cwd }: AdoptBody): Promise<Held[]> {
  const ids = from === undefined ? await outsideSessions(store, cwd) : [from]
  const held: Held[] = []
  for (const id of ids) {
    if (!(await store.session(id))) throw new AskbackError('not_found', `There is no session ${id}.`)
    const { interactions } = await replay(store, id)
    for (const interaction of interactions.values()) {
      if (interaction.status === 'settled' && interaction.settlement !== 'superseded')
        held.push({ interaction, isNamed: from !== undefined })
    }
  }
  return held
}

async function outsideSessions(store: Store, cwd: string | undefined): Promise<string[]> {
  const ids: string[] = []
  let after: string | undefined
  do {
    const page = await store.sessions({ limit: PAGE, ...optional({ after }) })
    for (const session of page.items)
      if (session.agent === null && cwd !== undefined && session.cwd === cwd) ids.push(session.id)
    after = page.next ?? undefined
  } while (after !== undefined)
  return ids
}

export interface Held {
  interaction: Interaction
  /** It is known to belong here; else its call must say so. */
  isNamed: boolean
}

/** The calls that interactions belong to: by id, then by tool name and command, then by the nearest time. */
function place({ items }: Pick<AdoptBody, 'items'>, held: Held[]): Map<string, Interaction[]> {
  const calls = items.filter((item): item is Call => item.type === 'tool_call')
  const placed = new Map<string, Interaction[]>()
  for (const { interaction, isNamed } of held) {
    const call = callOf(interaction, calls, isNamed)
    if (call) placed.set(call.toolCallId, [...(placed.get(call.toolCallId) ?? []), interaction])
  }
  return placed
}

function callOf(interaction: Interaction, calls: Call[], isNamed: boolean): Call | undefined {
  const { toolCallId, toolName, requestedAt } = interaction
  const exact = calls.find((call) => call.toolCallId === toolCallId)
  if (exact) return exact
  const nearest = (some: Call[]) =>
    some.toSorted((a, b) => Math.abs(a.at - requestedAt) - Math.abs(b.at - requestedAt))[0]
  const named = nearest(calls.filter((call) => scoreCall(toolName, call) >= SURE))
  if (named && (isNamed || Math.abs(named.at - requestedAt) <= NEAR_MS)) return named
  return isNamed ? nearest(calls) : undefined
}

interface Dated {
  at: number
  event: NewEvent
}

function logOf(
  { agent, agentSessionId, cwd, title, items }: AdoptBody,
  placed: Map<string, Interaction[]>,
  { by, newId, now }: { by: Actor; newId: () => string; now: number },
): Dated[] {
  const start = items[0]?.at ?? now
  const log: Dated[] = [
    {
      at: start,
      event: {
        type: 'session_started',
        agent,
        permissionMode: 'default',
        source: 'adopted',
        ...optional({ cwd, title }),
      },
    },
    { at: start, event: { type: 'agent_session', agentSessionId } },
  ]
  let turnId: string | null = null
  const known = new Set<string>()
  const add = (at: number, event: NewEvent) =>
    log.push({ at, event: { ...event, ...optional({ turnId: turnId ?? undefined }) } })
  const endTurn = (at: number) => {
    if (turnId !== null) log.push({ at, event: { type: 'turn_ended', turnId, reason: 'done' } })
    turnId = null
  }
  for (const item of items) {
    const { at } = item
    if (item.type === 'user_message') endTurn(at)
    if (turnId === null) {
      turnId = newId()
      if (item.type === 'user_message') add(at, { type: 'user_message', text: item.text, by })
      log.push({ at, event: { type: 'turn_started', turnId } })
      if (item.type === 'user_message') continue
    }
    if (item.type === 'text' || item.type === 'thinking')
      add(at, { type: item.type, blockId: newId(), text: item.text })
    if (item.type === 'tool_call' && !known.has(item.toolCallId)) {
      const { toolCallId, toolName, input } = item
      known.add(toolCallId)
      add(at, { type: 'tool_call', toolCallId, toolName, input, source: 'agent' })
      for (const interaction of placed.get(toolCallId) ?? [])
        for (const dated of settledAt(interaction, toolCallId, newId())) add(dated.at, dated.event)
    }
    if (item.type === 'tool_result' && known.has(item.toolCallId)) {
      const { toolCallId, output, isError } = item
      add(at, { type: 'tool_result', toolCallId, output, isError })
    }
  }
  endTurn(items.at(-1)?.at ?? start)
  return log
}

/** A settled interaction as it would stand in this log (L1, L2), under an id of its own. */
function settledAt(item: Interaction, toolCallId: string, interactionId: string): Dated[] {
  const { toolName, kind, presentation, request, digest, requestedAt, expiresAt, onTimeout, agentId } = item
  const { settlement, answer, message, by, via, settledAt: at = requestedAt, updatedDigest } = item
  const anchored = { interactionId, toolCallId, toolName }
  return [
    {
      at: requestedAt,
      event: {
        type: 'interaction_pending',
        ...anchored,
        pending: true,
        presentation,
        reason: 'requested',
        ...optional({ expiresAt }),
      },
    },
    {
      at: requestedAt,
      event: {
        type: 'interaction_request',
        ...anchored,
        kind,
        presentation,
        request,
        digest,
        requestedAt,
        onTimeout,
        ...optional({ expiresAt, agentId }),
      },
    },
    {
      at,
      event: {
        type: 'interaction_response',
        ...anchored,
        kind,
        digest,
        settlement: settlement ?? 'cancelled',
        ...optional({ answer, message, by, via, updatedDigest }),
      },
    },
    {
      at,
      event: {
        type: 'interaction_pending',
        ...anchored,
        pending: false,
        presentation,
        reason: settlement ?? 'cancelled',
      },
    },
    { at, event: { type: 'interaction_delivered', interactionId, toolCallId, to: 'adopted' } },
  ]
}
