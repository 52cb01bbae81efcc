import type { Interaction, SessionEvent, SessionState } from '@askback/protocol'
import { AskbackError } from '@askback/protocol'
import type { Fence } from '../store/store.js'
import { checkId } from './errors.js'
import type { Engine, Settled } from './engine.js'
import type { Speculative } from './speculative.js'
import { checkSignal, Waiter, type StopSignal } from './waiters.js'

const RETRY_MS = 1000

interface Wait {
  /** Without it the waiter looks on and claims nothing. */
  to: string | null
  signal?: StopSignal | undefined
  /** Of the agent that waits, if this process runs it. */
  fence?: Fence | undefined
}

/**
 * Resolves when the interaction is settled, to what `view` makes of it, with `delivered` as it was before: true if somebody
 * else had claimed it. Aborting only stops waiting.
 */
export function waitFor<View>(
  engine: Engine,
  target: { sessionId: string; interactionId: string },
  wait: Wait,
  view: (item: Interaction) => View,
): Promise<View> {
  return new Promise((resolve, reject) => {
    checkId(target.interactionId, 'interaction')
    if (wait.signal !== undefined) checkSignal(wait.signal)
    // Before the session is read for it: nobody would hear of it if that failed.
    if (wait.signal?.aborted) throw wait.signal.reason
    const enlist = (interactionId: string) => {
      const { to, fence, signal } = wait
      const waiting = { sessionId: target.sessionId, interactionId, to, fence }
      // What `view` makes is what `resolve` takes.
      const waiter = new Waiter(waiting, view, resolve as (made: unknown) => void, reject)
      engine.waiters.add(waiter)
      if (signal) waiter.heed(signal, () => engine.waiters.remove(waiter))
    }
    const log = engine.log(target.sessionId)
    // Most wait for what was asked just now, and need no look at the store.
    if (isPendingIn(log, target.interactionId)) enlist(target.interactionId)
    else
      settledOr(enlist, engine, target, wait)
        .then((item) => item && resolve(view(item)))
        .catch(reject)
  })
}

function isPendingIn(log: Speculative | Promise<Speculative>, interactionId: string): boolean {
  if (log instanceof Promise || log.stale) return false
  return log.state.interactions.get(interactionId)?.status === 'pending'
}

/** The settlement; or nothing, once the interaction was pending and `enlist` was called in that same moment. */
async function settledOr(
  enlist: (interactionId: string) => void,
  engine: Engine,
  target: { sessionId: string; interactionId: string },
  { to, signal, fence }: Wait,
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
      enlist(interactionId)
      return null
    }
    const item = here ?? (await settledEarlier(engine, sessionId, interactionId))
    // A settlement that is under way may still fail.
    if (!(await log.durable())) continue
    if (!item)
      throw new AskbackError('not_found', `There is no interaction ${interactionId} in this session.`)
    if (item.status === 'pending') {
      // Another process has opened it, or an append of ours that settles it was under way.
      await engine.refresh(sessionId)
      continue
    }
    const next = await reprompted(engine, item)
    if (next === null) return handOver(engine, item, to, fence)
    interactionId = next
  }
}

/** For those who want the interaction. */
export function itself(item: Interaction): Interaction {
  return item
}

/** A long poll: when `signal` aborts first, the interaction as it stands then. */
export async function pollFor(
  engine: Engine,
  target: { sessionId: string; interactionId: string },
  { to, signal, fence }: { to: string | null; signal: StopSignal; fence?: Fence | undefined },
): Promise<Interaction> {
  try {
    return await waitFor(engine, target, { to, signal, fence }, itself)
  } catch (error) {
    if (!signal.aborted) throw error
    const item = await standing(engine, target)
    // It may have been settled just when the time was up.
    return to === null ? item : claimFor(engine, item, to, fence)
  }
}

/** As it stands; a settlement is claimed, and comes as it was before that. */
export async function claimFor(
  engine: Engine,
  item: Interaction,
  to: string,
  fence?: Fence,
): Promise<Interaction> {
  return item.status === 'pending' || item.delivered ? item : handOver(engine, item, to, fence)
}

/** Wakes those whose interaction was settled, and moves those that are asked again (L6). */
export function wake(engine: Engine, { events, settled, claims }: Settled): void {
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

/** Looks again at everything that is waited for: another process may have settled it. */
export async function recheck(engine: Engine, sessionId?: string): Promise<void> {
  const waited = engine.waiters.interactions(sessionId)
  for (const { sessionId: session, interactionId } of waited) {
    const item = await durableItem(engine, session, interactionId)
    if (item?.status === 'pending') continue
    const next = item && (await reprompted(engine, item).catch(ifDeleted))
    // That may be settled by now, too.
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
  // From here on an abort comes too late: it would leave a claim that nobody got.
  waiter.claiming = true
  handOver(engine, item, waiter.to, waiter.fence).then(
    (handed) => waiter.resolve(handed),
    (error: unknown) => waiter.reject(error),
  )
}

/** L10: claims first. While the store cannot be written, the settlement is held back and tried again. */
async function handOver(
  engine: Engine,
  item: Interaction,
  to: string | null,
  fence?: Fence,
): Promise<Interaction> {
  const { sessionId, interactionId } = item
  if (to === null) {
    const here = await engine.read(sessionId, (state) => state.interactions.get(interactionId))
    // What is in memory may be behind the store, where it was found settled.
    return here?.status === 'settled' ? here : item
  }
  const command = { type: 'deliver', interactionId, to } as const
  /** By an attempt whose reply was lost: else nobody could act on it. */
  let isClaimed = false
  const claimed = () => (isClaimed = true)
  for (;;) {
    try {
      const { events } = await engine.run(sessionId, command, undefined, fence, claimed)
      return withDelivered(item, events.length === 0 && !isClaimed)
    } catch (error) {
      if (!(error instanceof AskbackError)) throw error
      // Deleted in between: it ended as it did, and with nowhere to claim it nothing may run.
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
 * The interaction that asks the same again; only a reprompt carries errors. Rejects with `not_found` if the session was deleted
 * in between: then nobody knows whether it was asked again.
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
    const item = here ?? (await settledEarlier(engine, sessionId, interactionId))
    if (await log.durable()) return item
  }
}

async function settledEarlier(
  engine: Engine,
  sessionId: string,
  interactionId: string,
): Promise<Interaction | null> {
  const item = await engine.options.store.interaction(interactionId)
  return item?.sessionId === sessionId ? item : null
}

/** The interaction, or the one that asks the same again (L6). */
async function standing(
  engine: Engine,
  { sessionId, interactionId }: { sessionId: string; interactionId: string },
): Promise<Interaction> {
  const inMemory = (state: SessionState) => state.interactions.get(interactionId)
  const item =
    (await engine.read(sessionId, inMemory, { fresh: true })) ??
    (await settledEarlier(engine, sessionId, interactionId))
  if (!item) throw new AskbackError('not_found', `There is no interaction ${interactionId} in this session.`)
  const next = await reprompted(engine, item)
  return next === null ? item : standing(engine, { sessionId, interactionId: next })
}
