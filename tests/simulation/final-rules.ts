import type { SessionSnapshot } from '@askback/core'
import {
  emptyState,
  fold,
  pendingOf,
  stateFromJson,
  stateToJson,
  type SessionStateJson,
} from '@askback/protocol'
import { toJson } from './log-facts.js'
import type { LoggedSession } from './log-model.js'
import { same } from './origin-rules.js'
import type { Process } from './process.js'
import { checkState } from './readers.js'
import { holds } from './violation.js'
import type { Waits } from './waits.js'
import type { World } from './world.js'

const ALL = 100_000

/** What must hold at the end of a run, when nothing is in progress. */
export async function checkEnd(world: World, waits: Waits): Promise<void> {
  checkWaits(world, waits)
  checkClaims(world)
  for (const session of world.model.sessions.values()) {
    await checkIndexes(world, session)
    await checkSnapshot(world, session)
  }
  await checkAllLive(world)
  await checkWhole(world)
  waits.abortAll()
  for (await world.drain(); world.busy.length > 0; await world.drain()) await world.step()
  holds(waits.size === 0, 'L10', () => `the wait for ${waits.waited.join()} continues after it was aborted`)
}

/** Every acknowledged answer has reached its waiter; the remaining waiters wait for pending interactions. */
export function checkWaits({ model }: World, waits: Waits): void {
  for (const { interactionId: waited, process } of waits.running) {
    const { request, response, session } = model.last(waited)
    if (process?.missedDoorbells.has(session.id)) continue
    const why = () =>
      `${request.interactionId} is ${response?.settlement}, and the waiter of ${waited} did not get it`
    holds(response === undefined && !session.ended, 'L10', why)
  }
}

/**
 * After a confirmed claim the waiter has received the settlement, and an approval as one that may run. If the reply to the claim
 * was lost but the process lives, it must find out that the claim was written, and its waiter receives the settlement, too.
 */
function checkClaims({ model }: World): void {
  for (const {
    request,
    response,
    claim,
    isClaimConfirmed,
    claimantLives,
    handedOver,
    granted,
  } of model.interactions.values()) {
    const isFoundOut = claimantLives() && claim?.to === 'agent'
    if (!isClaimConfirmed && !isFoundOut) continue
    const isGrant = request.kind === 'approval' && response?.settlement === 'approved'
    const given = isGrant ? granted === 1 : handedOver
    holds(given, 'L10', () => `${request.interactionId} was claimed, but no waiter received it`)
  }
}

async function checkIndexes({ disk, clock, offset }: World, session: LoggedSession): Promise<void> {
  const { id, interactions, events } = session
  holds(!session.ended, 'deletion', () => `${id} has ended and is still there`)
  const state = fold(emptyState(id), events)
  const pending = [...session.pending].join()
  const { items } = await disk.pending({ sessionId: id, limit: ALL })
  const indexed = items.map(({ interactionId }) => interactionId).join()
  holds(indexed === pending, 'pending index', () => `${indexed}; log ${pending}`)
  const folded = pendingOf(state)
    .map(({ interactionId }) => interactionId)
    .join()
  holds(folded === pending, 'pending index', () => `fold ${folded}`)
  holds(
    state.pendingIds.size === session.pending.size,
    'pending index',
    () => `fold ${state.pendingIds.size}`,
  )
  for (const { request, response } of interactions) {
    const { interactionId, expiresAt = Infinity, onTimeout } = request
    const overdue = clock.now() + offset - expiresAt
    const isLeft = !response && expiresAt !== Infinity && onTimeout !== 'keep'
    holds(!isLeft, 'L5', () => `${interactionId} is pending ${overdue} ms after its deadline`)
    const folded = state.interactions.get(interactionId)
    const stored = await disk.interaction(interactionId)
    if (folded)
      holds(same(toJson(stored), toJson(folded)), 'interaction index', () => `${interactionId} differs`)
  }
  const row = await disk.session(id)
  const isSame = row?.status === state.status && row.permissionMode === state.permissionMode
  holds(isSame, 'session index', () => `${id} differs`)
}

/** Folding the snapshot and the events after it gives the same state as folding all events. */
async function checkSnapshot({ disk }: World, { id, events }: LoggedSession): Promise<void> {
  const snapshot = await disk.loadSnapshot(id)
  if (!snapshot) return
  const { headId, headAt, ...json } = snapshot.state as unknown as SnapshotJson
  const head = events[snapshot.seq - 1]
  holds(
    head?.id === headId && head.at === headAt,
    'snapshot',
    () => `${id} at ${snapshot.seq} is of another log`,
  )
  const from = stateFromJson(json)
  const some = toJson(stateToJson(fold(from, events)))
  const all = toJson(stateToJson(fold(emptyState(id), events)))
  holds(same(some, all), 'snapshot', () => `${id} from its snapshot at ${snapshot.seq} differs`)
}

type SnapshotJson = SessionStateJson & { headId: string; headAt: number }

/** Every process has the state of the whole log in memory. */
export async function checkAllLive(world: World): Promise<void> {
  for (const session of world.model.sessions.values()) {
    if (session.ended) continue
    for (const process of world.live) await checkLive(world, process, session)
  }
}

async function checkLive(world: World, process: Process, session: LoggedSession): Promise<void> {
  const { id, events, logId } = session
  const snapshots: SessionSnapshot[] = []
  process.desk.snapshot(id).then(
    (snapshot) => snapshots.push(snapshot),
    (error: unknown) => world.broke(error),
  )
  for (await world.drain(); process.connection.busy; await world.drain()) await process.connection.step(true)
  const [snapshot] = snapshots
  const behind = () => `${process.name} has ${id}@${snapshot?.seq}, the log is at ${events.length}`
  holds(snapshot?.logId === logId && snapshot.seq === events.length, 'live equals replay', behind)
  checkState(session, snapshot.seq, snapshot.state)
}

async function checkWhole({ model, disk }: World): Promise<void> {
  const line = ({ interactionId, settlement }: { interactionId: string; settlement: string }) =>
    `${interactionId} ${settlement}`
  const rows = (await disk.audit({ limit: ALL })).items
  const audit = rows.flatMap((row) => ('act' in row ? [] : [line(row)])).join()
  const responses = model.responses.map(line).join()
  holds(audit === responses, 'audit', () => `audit ${audit}; log ${responses}`)
  const stored = (await disk.kv.list('rule/')).map(({ key }) => key)
  for (const [key, rule] of model.rules) {
    const { id, sessionId } = rule
    const isThere = stored.includes(key)
    const mayBe = sessionId === undefined || model.sessions.get(sessionId)?.logId === rule.logId
    if (!mayBe) holds(!isThere, 'deletion', () => `the rule ${id} outlives its session`)
    else if (!model.removed.has(id)) holds(isThere, 'rules', () => `the rule ${id} is not there`)
  }
  const keys = (await disk.kv.list('session/')).map(({ key }) => key.split('/')[1]!)
  for (const id of keys) holds(model.sessions.has(id), 'deletion', () => `a key of ${id} outlives it`)
  const erasures = await disk.kv.list('erase/')
  holds(erasures.length === 0, 'deletion', () => `${erasures[0]?.key} was not finished`)
}
