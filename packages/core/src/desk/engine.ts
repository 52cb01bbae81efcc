import {
  settleInteraction,
  viewInteraction,
  type Interaction,
  type SessionEvent,
  type SessionState,
} from '@askback/protocol'
import { MAX_BACK_MS, type Clock } from '../clock.js'
import type { Command, Decision } from '../decide/command.js'
import { decide } from '../decide/decide.js'
import type { InteractionKind } from '../kinds/kinds.js'
import { optional } from '../optional.js'
import type { AppendResult, Fence, KvWrite, Ring, Store } from '../store/store.js'
import { AllSessions } from './all-sessions.js'
import { checkId } from './errors.js'
import type { Follower, Head } from './committed.js'
import { closedError, fencedError, sessionNotFound } from './errors.js'
import { eventTexts } from './event-texts.js'
import { recall, recordOf, refusalOf, type IdempotencyKey, type CommandResult } from './idempotency.js'
import { Listeners, type GoneListener, type Listener } from './listeners.js'
import { interactionIn, lookUp, type EditCheck, type LookupResult } from './lookups.js'
import { SessionCache } from './session-cache.js'
import { Contention, SessionQueue, type ContentionPorts } from './session-lock.js'
import type { Speculative } from './speculative.js'
import { Deadlines } from './deadlines.js'
import { Waiters, type Waiter } from './waiters.js'

export interface EngineOptions {
  store: Store
  clock: Clock
  newId: () => string
  kind: (name: string) => InteractionKind | undefined
  edits: EditCheck
  maxPending: number
  /** How much of the sessions in which nothing happens stays in memory, by their weight. */
  memoryBudget: number
  /** How old what is read may be where other processes write, too, in milliseconds. */
  maxStaleMs: number
  /** For what happens in the background and has no caller to tell. */
  onError: (error: unknown) => void
}

/** What a durable append of this process settled. */
export interface CommittedSettlements {
  events: SessionEvent[]
  /** Without their claims. */
  settled: Interaction[]
  claims: Waiter[]
}

interface WaiterPorts {
  /** An append of this process is durable. */
  resolveWaiters(settlements: CommittedSettlements): void
  /** Looks at the log for what is waited for in a session. */
  recheck(sessionId: string): Promise<void>
}

/** With what an append was decided. */
interface Appending {
  extra: LookupResult
  now: number
  claims: Waiter[]
  key: IdempotencyKey | undefined
  fence: Fence | undefined
  lockOwner: string | undefined
  written: (() => void) | undefined
}

/** Runs commands: look up, decide, append. The caller gets its result when that is durable. */
export class Engine {
  readonly options: EngineOptions
  readonly waiters = new Waiters()
  readonly deadlines: Deadlines
  readonly allSessions: AllSessions
  /** Sessions that are being made, and by how many. */
  readonly beginning = new Map<string, number>()
  readonly #cache: SessionCache
  readonly #listeners: Listeners
  readonly #waiterPorts: WaiterPorts
  readonly #contentionPorts: ContentionPorts
  #closed = false

  constructor(options: EngineOptions, waiterPorts: WaiterPorts) {
    const { store, clock, memoryBudget, onError } = options
    this.options = options
    this.#waiterPorts = waiterPorts
    this.#listeners = new Listeners(onError)
    this.allSessions = new AllSessions({
      store,
      clock,
      onError,
      on: (listener) => this.#listeners.add(listener),
    })
    this.deadlines = new Deadlines({
      clock,
      expire: async (sessionId, interactionId) =>
        (await this.run(sessionId, { type: 'expire', interactionId })).interaction,
      onError,
    })
    this.#cache = new SessionCache({
      store,
      clock,
      memoryBudget,
      onError,
      advanced: (advance) => {
        this.deadlines.update(advance.events)
        this.#listeners.advanced(advance)
      },
      gone: (sessionId) => this.#listeners.gone(sessionId),
      hasWaiters: (sessionId) => this.waiters.hasWaitersIn(sessionId),
      recheckWaiters: (sessionId) => waiterPorts.recheck(sessionId),
    })
    this.#contentionPorts = {
      store,
      clock,
      newId: options.newId,
      queue: new SessionQueue(),
      hold: (sessionId) => this.#cache.hold(sessionId),
      onAdvance: (sessionId, heard) => this.#listeners.addFor(sessionId, heard),
    }
  }

  /**
   * Decides again for as long as the facts change under it. With `fence` only as long as that holds: for what an agent
   * does that this process runs. `written` is called when what it appended is durable, also if that is found out only after
   * it has failed. One function, as a promise more for each step would cost as much as the steps.
   */
  async run(
    sessionId: string,
    command: Command,
    key?: IdempotencyKey,
    fence?: Fence,
    written?: () => void,
  ): Promise<CommandResult> {
    let contention: Contention | null = null
    let isWritten = false
    const overtaken = (how?: { isLocked: boolean; sentAt: number }) => {
      contention ??= new Contention(this.#contentionPorts, sessionId)
      return contention.overtaken(how)
    }
    try {
      if (this.#contentionPorts.queue.has(sessionId)) {
        contention = new Contention(this.#contentionPorts, sessionId)
        await contention.enter()
      }
      for (;;) {
        const recorded = key && (await recall(this.options, key))
        if (recorded) {
          // Another process may have written it: a read here must see what is acknowledged here.
          if (this.options.store.shared) await this.#cache.refresh(sessionId)
          return recorded
        }
        const known = this.log(sessionId)
        const log = known instanceof Promise ? await known : known
        const { seq } = log.state
        const window = windowOf(log.state)
        const looked = lookUp(log, command, this.options)
        const extra = looked instanceof Promise ? await looked : looked
        if (log.stale || windowOf(log.state) !== window) {
          await overtaken()
          continue
        }
        // What has left the window comes from the store, which does not hold what came since.
        const beyondWindow =
          extra.found !== undefined ||
          (extra.knownCalls?.size ?? 0) > 0 ||
          (extra.placeholders?.size ?? 0) > 0 ||
          extra.imported !== undefined
        if (beyondWindow && log.state.seq !== seq) {
          await overtaken()
          continue
        }
        const now = this.#timeOf(log)
        const decidedOn = log.state.seq
        const wasThere = isThere(log.state)
        let decision: Decision
        try {
          decision = this.#decide(log.state, command, extra, now)
        } catch (error) {
          if (!(await this.#isCurrent(log, decidedOn))) {
            await overtaken()
            continue
          }
          // The same command may have been under way under the same key: then this one ended as that one did.
          const since = key && (await recall(this.options, key))
          if (since) return since
          // Its record may have been erased with the session just now.
          if (wasThere && !isThere(log.state)) {
            await overtaken()
            continue
          }
          throw error
        }
        // A kind of the embedder's own may have written to the session while it was asked.
        if (log.state.seq !== decidedOn) {
          await overtaken()
          continue
        }
        if (decision.events.length === 0) {
          const ran = await this.#unchanged(log, decision, extra, key)
          if (ran) return ran
          await overtaken()
          continue
        }
        const lockOwner = contention?.lockOwner
        const claims = this.#claim(decision)
        let appended: { ran: CommandResult; appending: Promise<AppendResult> }
        try {
          appended = this.#append(log, decision, { extra, now, claims, key, fence, lockOwner, written })
        } catch (error) {
          this.#release(claims)
          throw error
        }
        const { ran, appending } = appended
        let result: AppendResult
        try {
          result = await appending
        } catch (error) {
          // The next look at the log tells whether it was written.
          this.#cache.hint(sessionId)
          throw error
        }
        if (!result.ok) {
          if (result.conflict === 'fence') this.#fencedOff(claims)
          if (result.conflict === 'fence' && fence) {
            this.#cache.hint(sessionId)
            throw fencedError()
          }
          // The state is stale now: the next attempt reads the log.
          await overtaken({ isLocked: result.conflict === 'locked', sentAt: now })
          continue
        }
        isWritten = true
        const { refusal } = decision
        if (refusal && ran.interaction) throw refusalOf(refusal, viewInteraction(ran.interaction, now))
        return ran
      }
    } finally {
      await contention?.end(isWritten)
    }
  }

  /**
   * What `project` makes of the state, when all of that is durable. Where other processes write too it may be older than
   * the store, by `maxStaleMs` at most; with `fresh` it holds all that was in the store when this was called.
   */
  async read<T>(sessionId: string, project: (state: SessionState) => T, { fresh = false } = {}): Promise<T> {
    const { store, maxStaleMs } = this.options
    if (store.shared) await this.#cache.bringUpToDate(sessionId, fresh ? 0 : maxStaleMs)
    for (;;) {
      const known = this.log(sessionId)
      const log = known instanceof Promise ? await known : known
      if (log.stale) continue
      const { seq } = log.state
      const there = isThere(log.state)
      const value = there ? project(log.state) : null
      // Most reads rest on nothing that is under way, and wait for nothing.
      if (!log.idle && !(await log.durable())) continue
      if (there) return value as T
      if (await this.#isCurrent(log, seq)) throw sessionNotFound(log.state)
    }
  }

  log(sessionId: string): Speculative | Promise<Speculative> {
    if (this.#closed) throw closedError()
    checkId(sessionId, 'session')
    return this.#cache.get(sessionId)
  }

  /** The session was erased, or may have been. */
  forget(sessionId: string): void {
    this.#cache.forget(sessionId)
  }

  /** Somebody has appended. */
  heard({ sessionId, eventId }: Ring): void {
    this.allSessions.hint()
    if (!this.#cache.isOwn(sessionId, eventId)) this.#cache.hint(sessionId)
  }

  /** Whether that much of that log is known here. */
  reaches(sessionId: string, end: { logId: string; seq: number }): boolean {
    return this.#cache.reaches(sessionId, end)
  }

  /** Reads what others have appended. */
  refresh(sessionId: string): Promise<void> {
    return this.#cache.refresh(sessionId)
  }

  /** The same for all sessions in memory. */
  refreshAll(): Promise<void> {
    return this.#cache.refreshAll()
  }

  /** Everything in memory was compared with the store; that began at this time. */
  compared(at: number): void {
    this.#cache.comparedAt = at
  }

  /** Tells `follower` each durable event after the returned head. */
  async follow(sessionId: string, follower: Follower): Promise<{ head: Head; stop: () => void }> {
    await this.read(sessionId, () => null)
    const followed = await this.#cache.follow(sessionId, follower)
    if (followed) return followed
    throw sessionNotFound({ sessionId })
  }

  on(listener: Listener, gone?: GoneListener): () => void {
    return this.#listeners.add(listener, gone)
  }

  close(): void {
    this.#closed = true
    this.deadlines.close()
    this.#cache.close()
    this.allSessions.close()
    this.#listeners.clear()
    this.waiters.rejectAll(closedError())
  }

  get closed(): boolean {
    return this.#closed
  }

  #decide(state: SessionState, command: Command, extra: LookupResult, now: number): Decision {
    const makesIt = command.type === 'start' || command.type === 'adopt'
    if (!makesIt && !isThere(state)) throw sessionNotFound(state)
    const claimant = (interactionId: string) => this.waiters.claimant(interactionId)?.to ?? null
    const { newId, kind, maxPending } = this.options
    return decide(state, command, { now, newId, kind, maxPending, claimant, ...extra })
  }

  async #unchanged(
    log: Speculative,
    decision: Decision,
    extra: LookupResult,
    key?: IdempotencyKey,
  ): Promise<CommandResult | null> {
    const { interactionId, routed, wait } = decision
    const interaction =
      interactionId === undefined ? undefined : interactionIn(log.state, interactionId, extra)
    if (!(await this.#isCurrent(log, log.state.seq))) return null
    if (key && !wait && !(await this.#record(log, recordOf(key, decision, [])))) return null
    return { events: [], ...optional({ interaction, routed, wait }) }
  }

  /** No append validates an empty decision or a refusal, so it is checked against the log before it is returned. */
  async #isCurrent(log: Speculative, seq: number): Promise<boolean> {
    if (!(await log.durable())) return false
    if (!this.options.store.shared) return true
    await this.#cache.refresh(log.state.sessionId)
    return !log.stale && log.state.seq === seq
  }

  /** Keeps a key that no append brings along. It must not outlive its session, which may be deleted just now. */
  async #record(log: Speculative, { key, value }: KvWrite): Promise<boolean> {
    const { store } = this.options
    const { kv } = store
    const { sessionId, logId } = log.state
    if (!isThere(log.state) || !(await kv.put(key, value, null))) return false
    if (!store.shared || (await store.read({ sessionId, limit: 1 }))[0]?.id === logId) return true
    const left = await kv.get(key)
    if (left) await kv.put(key, null, left.version)
    return false
  }

  /** Folds the events at once; what it did is true when `appending` says so. */
  #append(
    log: Speculative,
    decision: Decision,
    { extra, now, claims, key, fence: own, lockOwner, written }: Appending,
  ): { ran: CommandResult; appending: Promise<AppendResult> } {
    const { state } = log
    const { interactionId, routed } = decision
    const events = this.#stamp(log, decision, now)
    // After `#stamp`, which gives each response its time.
    const settled = (decision.settled ?? []).map(({ interaction, response }) =>
      settleInteraction(interaction, response),
    )
    const kv = key ? [...(decision.kv ?? []), recordOf(key, decision, events)] : decision.kv
    const fence = own ?? claims.find((waiter) => waiter.fence)?.fence
    const appending = log.append(
      { events, texts: () => eventTexts(events), kv, fence, lockOwner },
      {
        committed: () => {
          // Also when this desk is closed: what was claimed is handed over.
          this.#waiterPorts.resolveWaiters({ events, settled, claims })
          written?.()
          if (log.snapshotIsDue) log.saveSnapshot().catch(this.options.onError)
        },
        abandoned: () => this.#release(claims),
      },
    )
    const ran: CommandResult = { events }
    if (routed !== undefined) ran.routed = routed
    if (interactionId !== undefined) {
      const interaction =
        settled.find((item) => item.interactionId === interactionId) ??
        interactionIn(state, interactionId, extra)
      if (interaction) ran.interaction = interaction
    }
    return { ran, appending }
  }

  /** The waiters whose claims this append makes. Called in the same tick as `#decide`, so they are the ones that it saw. */
  #claim({ settled = [] }: Decision): Waiter[] {
    const claims: Waiter[] = []
    for (const { interaction, claimant } of settled) {
      const waiter = claimant === null ? null : this.waiters.claimant(interaction.interactionId)
      if (!waiter) continue
      waiter.claiming = true
      claims.push(waiter)
    }
    return claims
  }

  #release(claims: Waiter[]): void {
    for (const waiter of claims) {
      waiter.released()
      if (this.#closed) this.waiters.end(waiter)
    }
  }

  /** Another process runs the agent now: who waits here for that agent waits for nothing any more. */
  #fencedOff(claims: Waiter[]): void {
    for (const waiter of claims.filter(({ fence }) => fence)) {
      this.waiters.remove(waiter)
      waiter.reject(fencedError())
    }
  }

  /**
   * No earlier than the last event of the log, so that L4 holds for whoever compares `at` with `expiresAt`. Another process may
   * have been a little ahead, and the clock may have been set back between two lives of a process. Where the log is dated
   * further into the future, nothing that is asked now could ever expire: there the clock counts.
   */
  #timeOf({ lastAt }: Speculative): number {
    const now = this.options.clock.now()
    return lastAt > now && lastAt - now <= MAX_BACK_MS ? lastAt : now
  }

  /** `at` never runs backwards in a log. */
  #stamp({ state, lastAt }: Speculative, decision: Decision, now: number): SessionEvent[] {
    const { newId } = this.options
    const { sessionId, seq } = state
    const { events, times } = decision
    let at = lastAt
    // In place: they were made for this append, and to copy them all costs as much as to decide.
    return events.map((decided, index) => {
      const event = decided as SessionEvent
      at = Math.max(at, times?.[index] ?? now)
      event.seq = seq + 1 + index
      event.id = newId()
      event.sessionId = sessionId
      event.at = at
      return event
    })
  }
}

/** Changes when turns come or leave. */
function windowOf({ trimmed, turns }: SessionState): string {
  return trimmed ? `${turns.length} ${turns.at(-1)?.key}` : ''
}

function isThere(state: SessionState): boolean {
  return state.seq > 0 && !state.ended
}
