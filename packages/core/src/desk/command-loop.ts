import {
  settleInteraction,
  viewInteraction,
  type Interaction,
  type SessionEvent,
  type SessionState,
} from '@askback/protocol'
import { MAX_BACK_MS, type Clock } from '../clock.js'
import type { Command, DecidedSettlement, Decision } from '../decide/command.js'
import { decide } from '../decide/decide.js'
import type { InteractionKind } from '../kinds/kinds.js'
import { optional } from '../optional.js'
import type { AppendResult, Fence, KvWrite, Store } from '../store/store.js'
import { OwnAppend } from './committed.js'
import { fencedError, sessionNotFound } from './desk-options.js'
import { recall, recordOf, refusalOf, type CommandResult, type IdempotencyKey } from './idempotency.js'
import type { Listeners } from './listeners.js'
import { interactionIn, lookUp, unlessChanged, type EditCheck, type LookupResult } from './lookups.js'
import type { SessionCache } from './session-cache.js'
import { Contention, SessionQueue, type ContentionPorts } from './session-lock.js'
import type { Speculative } from './speculative.js'
import type { Waiter, Waiters } from './waiters.js'

export interface CommandLoopOptions {
  store: Store
  clock: Clock
  newId: () => string
  kind: (name: string) => InteractionKind | undefined
  edits: EditCheck
  /** Limit of pending interactions per session. */
  maxPending: number
  /** Called with errors of background work, which have no caller. */
  onError: (error: unknown) => void
}

/** What a durable append of this process settled. */
export interface CommittedSettlements {
  events: SessionEvent[]
  /** Without their claims. */
  settled: Interaction[]
  claims: Waiter[]
}

interface CommandLoopPorts {
  cache: SessionCache
  waiters: Waiters
  listeners: Listeners
  /** The state of a session; rejects when the desk is closed. */
  log(sessionId: string): Speculative | Promise<Speculative>
  isClosed(): boolean
  /** Called when an append of this process is durable. */
  resolveWaiters(settlements: CommittedSettlements): void
}

export interface RunOptions {
  key?: IdempotencyKey | undefined
  /** The append is refused unless this fence holds: for commands of an agent that this process runs. */
  fence?: Fence | undefined
  /** Called when the append is durable, also if that is found out after `run` has rejected because the store's reply was lost. */
  onWritten?: (() => void) | undefined
}

const NO_OPTIONS: RunOptions = {}
/** Shared by the many appends that settle or claim nothing; never changed. */
const NO_SETTLED: Interaction[] = []
const NO_CLAIMS: Waiter[] = []

/** The append of a command. A class and not callbacks: closures for each append cost as much as a part of the decision. */
class CommandAppend extends OwnAppend implements CommittedSettlements {
  readonly settled: Interaction[]
  readonly claims: Waiter[]
  readonly result: CommandResult
  readonly log: Speculative
  readonly #loop: CommandLoop
  readonly #onWritten: (() => void) | undefined

  constructor(
    loop: CommandLoop,
    log: Speculative,
    { events, settled, claims }: CommittedSettlements,
    onWritten: (() => void) | undefined,
  ) {
    super(events)
    this.settled = settled
    this.claims = claims
    this.result = { events }
    this.#loop = loop
    this.log = log
    this.#onWritten = onWritten
  }

  committed(): void {
    this.#loop.committed(this, this.log)
    this.#onWritten?.()
  }

  abandoned(): void {
    this.#loop.release(this.claims)
  }
}

/**
 * Runs commands: look up, decide, append. A command whose facts changed before it was written is decided again, so that of two
 * answers the first one wins. The caller gets the result when it is durable.
 *
 *   look up → decide → append ─ ok → result
 *      ↑                  │
 *      └── conflict ──────┘   (waits in the session's queue, then locks the session in a shared store)
 */
export class CommandLoop {
  readonly #options: CommandLoopOptions
  readonly #ports: CommandLoopPorts
  readonly #contentionPorts: ContentionPorts
  /** The receiver that would claim a settlement; a part of every decision's context. */
  readonly #claimant = (interactionId: string): string | null =>
    this.#ports.waiters.claimant(interactionId)?.to ?? null

  constructor(options: CommandLoopOptions, ports: CommandLoopPorts) {
    this.#options = options
    this.#ports = ports
    const { store, clock, newId } = options
    this.#contentionPorts = {
      store,
      clock,
      newId,
      queue: new SessionQueue(),
      hold: (sessionId) => ports.cache.hold(sessionId),
      onAdvance: (sessionId, listener) => ports.listeners.addFor(sessionId, listener),
    }
  }

  /** One function for all steps: a promise per step would cost as much as the steps. */
  async run(sessionId: string, command: Command, options: RunOptions = NO_OPTIONS): Promise<CommandResult> {
    const { key } = options
    const contention = new Contention(this.#contentionPorts, sessionId)
    let isWritten = false
    try {
      if (!contention.isFree) await contention.enter()
      for (;;) {
        const recorded = key && (await this.#recall(sessionId, key))
        if (recorded) return recorded
        const known = this.#ports.log(sessionId)
        const log = known instanceof Promise ? await known : known
        const looked = lookUp(log, command, this.#options)
        const found = looked instanceof Promise ? await unlessChanged(log, looked) : looked
        if (!found || log.stale) {
          await contention.overtaken()
          continue
        }
        const now = this.#timeOf(log)
        const { seq } = log.state
        const existed = exists(log.state)
        let decision: Decision
        try {
          decision = this.#decide(log.state, command, found, now)
        } catch (error) {
          const instead = await this.#insteadOfRefusal(log, { seq, existed }, key)
          if (instead === 'nothing') throw error
          if (instead !== 'overtaken') return instead
          await contention.overtaken()
          continue
        }
        // The embedder's code of a kind may have written to the session while it was called.
        if (log.state.seq !== seq) {
          await contention.overtaken()
          continue
        }
        if (decision.events.length === 0) {
          const result = await this.#unchanged(log, decision, found, key)
          if (result) return result
          await contention.overtaken()
          continue
        }
        const own = this.#stampAndClaim(log, decision, now, options)
        let outcome: AppendResult
        try {
          outcome = await this.#append(own, decision, found, options, contention.lockOwner)
        } catch (error) {
          // Read the log, to find out whether it was written.
          this.#ports.cache.hint(sessionId)
          throw error
        }
        if (!outcome.ok) {
          if (outcome.conflict === 'fence') this.#rejectFenced(own.claims)
          if (outcome.conflict === 'fence' && options.fence) {
            this.#ports.cache.hint(sessionId)
            throw fencedError()
          }
          // The state is stale now: the next attempt reads the log.
          await contention.overtaken({ isLocked: outcome.conflict === 'locked', sentAt: now })
          continue
        }
        isWritten = true
        const { refusal } = decision
        const { result } = own
        if (refusal && result.interaction) throw refusalOf(refusal, viewInteraction(result.interaction, now))
        return result
      }
    } finally {
      if (contention.hasWaited) await contention.end(isWritten)
    }
  }

  /** Called when an append is durable, also after closing: the claims are in the log, so their waiters must get the settlements. */
  committed(own: CommittedSettlements, log: Speculative): void {
    this.#ports.resolveWaiters(own)
    if (log.snapshotIsDue) log.saveSnapshot().catch(this.#options.onError)
  }

  /** Called when an append was not written: its claims were not made. */
  release(claims: Waiter[]): void {
    for (const waiter of claims) {
      waiter.released()
      if (this.#ports.isClosed()) this.#ports.waiters.end(waiter)
    }
  }

  /** The result of the command that was first sent under this key. */
  async #recall(sessionId: string, key: IdempotencyKey): Promise<CommandResult | null> {
    const recorded = await recall(this.#options, key)
    // Another process may have written it: a read here must include what is acknowledged here.
    if (recorded && this.#options.store.shared) await this.#ports.cache.refresh(sessionId)
    return recorded
  }

  /** A refusal counts only if the state that it was decided on is current. */
  async #insteadOfRefusal(
    log: Speculative,
    { seq, existed }: { seq: number; existed: boolean },
    key: IdempotencyKey | undefined,
  ): Promise<CommandResult | 'overtaken' | 'nothing'> {
    if (!(await this.isCurrent(log, seq))) return 'overtaken'
    // The same command may have been running under the same key: then this one has the result of that one.
    const since = key && (await recall(this.#options, key))
    if (since) return since
    // The record of that one may have been erased with the session.
    return existed && !exists(log.state) ? 'overtaken' : 'nothing'
  }

  /** No append validates an empty decision or a refusal, so re-check the log before returning it. */
  async isCurrent(log: Speculative, seq: number): Promise<boolean> {
    if (!(await log.durable())) return false
    if (!this.#options.store.shared) return true
    await this.#ports.cache.refresh(log.state.sessionId)
    return !log.stale && log.state.seq === seq
  }

  #decide(state: SessionState, command: Command, found: LookupResult, now: number): Decision {
    const creates = command.type === 'start' || command.type === 'adopt'
    if (!creates && !exists(state)) throw sessionNotFound(state)
    const { newId, kind, maxPending } = this.#options
    const claimant = this.#claimant
    // Field by field: a spread costs more than the rest of this function.
    const { found: item, rule, edit, knownCalls, placeholders, imported } = found
    const looked = { found: item, rule, edit, knownCalls, placeholders, imported }
    return decide(state, command, { now, newId, kind, maxPending, claimant, ...looked })
  }

  async #unchanged(
    log: Speculative,
    decision: Decision,
    found: LookupResult,
    key?: IdempotencyKey,
  ): Promise<CommandResult | null> {
    const { interactionId, routed, turnId, wait } = decision
    const interaction =
      interactionId === undefined ? undefined : interactionIn(log.state, interactionId, found)
    if (!(await this.isCurrent(log, log.state.seq))) return null
    if (key && !wait && !(await this.#record(log, recordOf(key, decision, [])))) return null
    return { events: [], ...optional({ interaction, routed, turnId, wait }) }
  }

  /** Writes the record of a command without events. It must not outlive its session, which may be deleted at the same time. */
  async #record(log: Speculative, { key, value }: KvWrite): Promise<boolean> {
    const { store } = this.#options
    const { kv } = store
    const { sessionId, logId } = log.state
    if (!exists(log.state) || !(await kv.put(key, value, null))) return false
    if (!store.shared || (await store.read({ sessionId, limit: 1 }))[0]?.id === logId) return true
    const left = await kv.get(key)
    if (left) await kv.put(key, null, left.version)
    return false
  }

  /** Gives the events their places and times, and marks the waiters whose claims are among them. */
  #stampAndClaim(log: Speculative, decision: Decision, now: number, options: RunOptions): CommandAppend {
    const events = this.#stamp(log, decision, now)
    let settled = NO_SETTLED
    // After `#stamp`, which gives each response its time.
    if (decision.settled)
      settled = decision.settled.map(({ interaction, response }) => settleInteraction(interaction, response))
    const claims = decision.settled ? this.#claim(decision.settled) : NO_CLAIMS
    return new CommandAppend(this, log, { events, settled, claims }, options.onWritten)
  }

  /** Folds the events into the state at once. The result is valid when the promise resolves with `ok`. */
  #append(
    own: CommandAppend,
    decision: Decision,
    found: LookupResult,
    { key, fence: ownFence }: RunOptions,
    lockOwner: string | undefined,
  ): Promise<AppendResult> {
    const { events, settled, claims, result, log } = own
    const { interactionId, routed, turnId } = decision
    const kv = key ? [...(decision.kv ?? []), recordOf(key, decision, events)] : decision.kv
    const fence = ownFence ?? claims.find((waiter) => waiter.fence)?.fence
    let appending: Promise<AppendResult>
    try {
      appending = log.append(own, { kv, fence, lockOwner })
    } catch (error) {
      this.release(claims)
      throw error
    }
    if (routed !== undefined) result.routed = routed
    if (turnId !== undefined) result.turnId = turnId
    if (interactionId !== undefined) {
      const interaction =
        settled.find((item) => item.interactionId === interactionId) ??
        interactionIn(log.state, interactionId, found)
      if (interaction) result.interaction = interaction
    }
    return appending
  }

  /** The waiters whose claims this append makes. Called in the same tick as `#decide`, so they are the ones that it saw. */
  #claim(settled: DecidedSettlement[]): Waiter[] {
    let claims = NO_CLAIMS
    for (const { interaction, claimant } of settled) {
      const waiter = claimant === null ? null : this.#ports.waiters.claimant(interaction.interactionId)
      if (!waiter) continue
      waiter.claiming = true
      if (claims === NO_CLAIMS) claims = [waiter]
      else claims.push(waiter)
    }
    return claims
  }

  /** Another process runs the agent now: the waiters of that agent in this process must not get settlements. */
  #rejectFenced(claims: Waiter[]): void {
    for (const waiter of claims.filter(({ fence }) => fence)) {
      this.#ports.waiters.remove(waiter)
      waiter.reject(fencedError())
    }
  }

  /**
   * The time of an append: no earlier than the last event of the log, so that comparing `at` with `expiresAt` gives what L4 says.
   * Another process may have been a little ahead, and the clock may have been set back between two starts. If the log is dated further
   * into the future, the clock counts; otherwise nothing that is asked now would ever expire.
   */
  #timeOf({ lastAt }: Speculative): number {
    const now = this.#options.clock.now()
    return lastAt > now && lastAt - now <= MAX_BACK_MS ? lastAt : now
  }

  /** Fills in the place and time of each event. `at` never decreases in a log. */
  #stamp({ state, lastAt }: Speculative, decision: Decision, now: number): SessionEvent[] {
    const { newId } = this.#options
    const { sessionId, seq } = state
    const { events, times } = decision
    let at = lastAt
    // In place: they were made for this append, and copying them costs as much as deciding.
    return events.map((decided, index) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the fields that it lacks are set below
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

export function exists(state: SessionState): boolean {
  return state.seq > 0 && !state.ended
}
