import type { Interaction, SessionEvent, SessionState } from '@askback/protocol'
import { AskbackError } from '@askback/protocol'
import type { Fence } from '../store/store.js'
import { checkId } from './desk-options.js'
import type { CommittedSettlements } from './command-loop.js'
import type { Engine } from './engine.js'
import type { Speculative } from './speculative.js'
import { checkSignal, Waiter, type StopSignal } from './waiters.js'

// Waits for settlements. A waiter in this process gets its settlement from the append that makes it (`resolveWaiters`), or by reading the
// log when another process appended it (`recheck`). Before an agent gets a settlement it is claimed in the log (L10).

/** Pause before a claim that the store could not write is tried again, in milliseconds. */
const RETRY_MS = 1000

interface WaitRequest {
  /** Receiver named in the claim; `null` waits without claiming. */
  to: string | null
  signal?: StopSignal | undefined
  /** Fence of the agent that waits, if this process runs it. */
  fence?: Fence | undefined
}

/**
 * Resolves when the interaction is settled, with `view` of it. Its `delivered` is as it was before this claim: true if another receiver
 * had claimed it. Aborting only ends the wait.
 */
export function waitFor<View>(
  engine: Engine,
  target: { sessionId: string; interactionId: string },
  wait: WaitRequest,
  view: (item: Interaction) => View,
): Promise<View> {
  return new Promise((resolve, reject) => {
    checkId(target.interactionId, 'interaction')
    if (wait.signal !== undefined) checkSignal(wait.signal)
    // Checked before the session is read: if that read failed, nobody would see the abort.
    if (wait.signal?.aborted) throw wait.signal.reason
    const addWaiter = (interactionId: string) => {
      const { to, fence, signal } = wait
      const waitedFor = { sessionId: target.sessionId, interactionId, to, fence }
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `resolve` takes the result of `view`; `Waiter` is not generic, to keep it small
      const waiter = new Waiter(waitedFor, view, resolve as (made: unknown) => void, reject)
      engine.waiters.add(waiter)
      if (signal) waiter.endOn(signal, () => engine.waiters.remove(waiter))
    }
    const log = engine.log(target.sessionId)
    // Most callers wait right after they opened the interaction: no read of the store is needed.
    if (isPendingIn(log, target.interactionId)) addWaiter(target.interactionId)
    else
      settledOr(addWaiter, engine, target, wait)
        .then((item) => item && resolve(view(item)))
        .catch(reject)
  })
}

function isPendingIn(log: Speculative | Promise<Speculative>, interactionId: string): boolean {
  if (log instanceof Promise || log.stale) return false
  return log.state.interactions.get(interactionId)?.status === 'pending'
}

/** The settled interaction; or `null` after it was found pending and `addWaiter` was called in the same tick. */
async function settledOr(
  addWaiter: (interactionId: string) => void,
  engine: Engine,
  target: { sessionId: string; interactionId: string },
  { to, signal, fence }: WaitRequest,
): Promise<Interaction | null> {
  const { sessionId } = target
  let { interactionId } = target
  for (;;) {
    if (signal?.aborted) throw signal.reason
    const known = engine.log(sessionId)
    const log = known instanceof Promise ? await known : known
    if (log.stale) continue
    const here = log.state.interactions.get(interactionId)
    if (isPendingIn(log, interactionId)) {
      addWaiter(interactionId)
      return null
    }
    const item = here ?? (await storedInteraction(engine, sessionId, interactionId))
    // The append of this settlement may still fail.
    if (!(await log.durable())) continue
    if (!item)
      throw new AskbackError('not_found', `There is no interaction ${interactionId} in this session.`)
    if (item.status === 'pending') {
      // Another process opened it, or an own append that would settle it failed: read the log.
      await engine.refresh(sessionId)
      continue
    }
    const next = await reprompted(engine, item)
    if (next === null) return claimAndReturn(engine, item, to, fence)
    interactionId = next
  }
}

/** A long poll: when `signal` aborts before the interaction is settled, resolves with the interaction as it is then. */
export async function pollFor(
  engine: Engine,
  target: { sessionId: string; interactionId: string },
  { to, signal, fence }: { to: string | null; signal: StopSignal; fence?: Fence | undefined },
): Promise<Interaction> {
  checkSignal(signal)
  try {
    return await waitFor(engine, target, { to, signal, fence }, (item) => item)
  } catch (error) {
    if (!signal.aborted) throw error
    const item = await currentVersion(engine, target)
    // It may have been settled at the same moment.
    return to === null ? item : claimFor(engine, item, to, fence)
  }
}

/** Reads the interaction without waiting and without following a reprompt. A settlement is claimed unless `to` is `null`. */
export async function readAndClaim(
  engine: Engine,
  { sessionId, interactionId }: { sessionId: string; interactionId: string },
  { to, fence }: { to: string | null; fence?: Fence | undefined },
): Promise<Interaction> {
  const item = await readInteraction(engine, sessionId, interactionId)
  return to === null ? item : claimFor(engine, item, to, fence)
}

/** Claims the interaction if it is settled and unclaimed. Returns it as it was before the claim. */
async function claimFor(engine: Engine, item: Interaction, to: string, fence?: Fence): Promise<Interaction> {
  return item.status === 'pending' || item.delivered ? item : claimAndReturn(engine, item, to, fence)
}

/** After an own append is durable: resolves the waiters of what it settled, and moves those of a reprompt to the new interaction (L6). */
export function resolveWaiters(engine: Engine, { events, settled, claims }: CommittedSettlements): void {
  for (const item of settled) {
    const waiting = engine.waiters.take(item.interactionId)
    if (waiting.length === 0) continue
    const next = repromptIn(events, item)
    const claimed = claims.find((waiter) => waiter.interactionId === item.interactionId)
    for (const waiter of waiting) {
      if (next !== undefined) move(engine, waiter, next)
      else if (waiter === claimed) waiter.resolve(item)
      else if (claimed) waiter.resolve({ ...item, delivered: true })
      else if (waiter.to === null) waiter.resolve(item)
      else finish(engine, waiter, item)
    }
  }
}

/** Reads everything that is waited for again: another process may have settled it. */
export async function recheck(engine: Engine, sessionId?: string): Promise<void> {
  const waited = engine.waiters.interactions(sessionId)
  for (const { sessionId: session, interactionId } of waited) {
    const item = await durableItem(engine, session, interactionId)
    if (item?.status === 'pending') continue
    const next = item && (await reprompted(engine, item).catch(ifDeleted))
    // The new one may be settled, too.
    if (next && next !== DELETED) waited.push({ sessionId: session, interactionId: next })
    for (const waiter of engine.waiters.take(interactionId)) {
      if (!item || next === DELETED) waiter.reject(deletedError())
      else if (next) move(engine, waiter, next)
      else finish(engine, waiter, item)
    }
  }
}

function move(engine: Engine, waiter: Waiter, interactionId: string): void {
  waiter.interactionId = interactionId
  engine.waiters.add(waiter)
}

function finish(engine: Engine, waiter: Waiter, item: Interaction): void {
  // From here on an abort is ignored: the claim would be in the log and its receiver gone.
  waiter.claiming = true
  claimAndReturn(engine, item, waiter.to, waiter.fence).then(
    (claimed) => waiter.resolve(claimed),
    (error: unknown) => waiter.reject(error),
  )
}

/** L10: returns the settlement after its claim is durable. While the store cannot be written, the claim is retried. */
async function claimAndReturn(
  engine: Engine,
  item: Interaction,
  to: string | null,
  fence?: Fence,
): Promise<Interaction> {
  const { sessionId, interactionId } = item
  if (to === null) {
    const here = await engine.read(sessionId, (state) => state.interactions.get(interactionId))
    // The state in memory may be older than `item`, which may come from the store.
    return here?.status === 'settled' ? here : item
  }
  const command = { type: 'deliver', interactionId, to } as const
  // An earlier attempt may have been written although its reply was lost: then this caller holds the claim.
  let isClaimed = false
  const onWritten = () => (isClaimed = true)
  for (;;) {
    try {
      const { events } = await engine.run(sessionId, command, { fence, onWritten })
      return withDelivered(item, events.length === 0 && !isClaimed)
    } catch (error) {
      if (!(error instanceof AskbackError)) throw error
      // The session was deleted. Without a log the claim cannot be written, so nothing may run: report it as claimed.
      if (error.code === 'not_found') return withDelivered(item, true)
      if (error.code !== 'unavailable' || engine.closed) throw error
      engine.options.onError(error)
      await new Promise<void>((resolve) => {
        engine.options.clock.alarm(engine.options.clock.now() + RETRY_MS, resolve)
      })
    }
  }
}

function withDelivered(item: Interaction, delivered: boolean): Interaction {
  const { delivered: _, ...rest } = item
  return delivered ? { ...rest, delivered } : rest
}

function repromptIn(events: SessionEvent[], item: Interaction): string | undefined {
  const { supersededBy } = item
  const again = events.some(
    (event) =>
      event.type === 'interaction_pending' &&
      event.reason === 'reprompted' &&
      event.interactionId === supersededBy,
  )
  return again ? supersededBy : undefined
}

/**
 * The id of the interaction that reprompts this one, or `null`; only a reprompt has errors. Rejects with `not_found` if the session was
 * deleted meanwhile, because then it is unknown whether there was a reprompt.
 */
async function reprompted(engine: Engine, item: Interaction): Promise<string | null> {
  if (item.supersededBy === undefined) return null
  const log = await engine.log(item.sessionId)
  const next =
    log.state.interactions.get(item.supersededBy) ??
    (await engine.options.store.interaction(item.supersededBy))
  if (!next) throw deletedError()
  return next.errors ? next.interactionId : null
}

const DELETED = Symbol('deleted')

function ifDeleted(error: unknown): typeof DELETED {
  if (error instanceof AskbackError && error.code === 'not_found') return DELETED
  throw error
}

function deletedError(): AskbackError {
  return new AskbackError('not_found', 'The session was deleted.')
}

async function durableItem(
  engine: Engine,
  sessionId: string,
  interactionId: string,
): Promise<Interaction | null> {
  for (;;) {
    const log = await engine.log(sessionId)
    const here = log.state.interactions.get(interactionId)
    const item = here ?? (await storedInteraction(engine, sessionId, interactionId))
    if (await log.durable()) return item
  }
}

async function storedInteraction(
  engine: Engine,
  sessionId: string,
  interactionId: string,
): Promise<Interaction | null> {
  const item = await engine.options.store.interaction(interactionId)
  return item?.sessionId === sessionId ? item : null
}

/** The interaction, or its last reprompt (L6). */
async function currentVersion(
  engine: Engine,
  { sessionId, interactionId }: { sessionId: string; interactionId: string },
): Promise<Interaction> {
  const item = await readInteraction(engine, sessionId, interactionId)
  const next = await reprompted(engine, item)
  return next === null ? item : currentVersion(engine, { sessionId, interactionId: next })
}

async function readInteraction(
  engine: Engine,
  sessionId: string,
  interactionId: string,
): Promise<Interaction> {
  checkId(interactionId, 'interaction')
  const inMemory = (state: SessionState) => state.interactions.get(interactionId)
  const item =
    (await engine.read(sessionId, inMemory, { fresh: true })) ??
    (await storedInteraction(engine, sessionId, interactionId))
  if (item) return item
  throw new AskbackError('not_found', `There is no interaction ${interactionId} in this session.`)
}
