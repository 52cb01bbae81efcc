import {
  AskbackError,
  viewInteraction,
  type Interaction,
  type SessionEvent,
  type SessionState,
} from '@askback/protocol'
import type { Clock } from '../clock.js'
import type { Command, Decision } from '../decide/command.js'
import { decide } from '../decide/decide.js'
import type { InteractionKind } from '../kinds/kinds.js'
import { optional } from '../optional.js'
import type { AppendResult, Fence, KvWrite, Store } from '../store/store.js'
import { checkId } from './check-id.js'
import { eventTexts } from './event-texts.js'
import { Hearing } from './hearing.js'
import { recall, recordOf, refusalOf, type IdempotencyKey, type Ran } from './idempotency.js'
import { Listeners, type Listener } from './listeners.js'
import { lookUp, type Edits, type Looked } from './lookups.js'
import { Precedence } from './precedence.js'
import type { SessionLog } from './session-log.js'
import { SessionLogs } from './session-logs.js'
import { interactionIn, settledBy } from './settled-by.js'
import { Timeouts } from './timeouts.js'
import { Waiters, type Waiter } from './waiters.js'

export interface EngineOptions {
  store: Store
  clock: Clock
  newId: () => string
  kind: (name: string) => InteractionKind | undefined
  edits: Edits
  maxPending: number
  /** How much of the sessions in which nothing happens stays in memory, by their weight. */
  room: number
  /** For what happens in the background and has no caller to tell. */
  onError: (error: unknown) => void
}

/** Told after each commit of this process; `settled` before anyone had claimed them. */
export type Committed = (appended: {
  events: SessionEvent[]
  settled: Interaction[]
  claims: Waiter[]
}) => void

/** With what an append was decided. */
interface Appending {
  extra: Looked
  now: number
  claims: Waiter[]
  key: IdempotencyKey | undefined
  fence: Fence | undefined
}

const MAX_ATTEMPTS = 100
/** Who was overtaken that often goes alone. */
const MOST_OVERTAKEN = 2

/** Runs commands: look up, decide, append, and only when that is durable tell whoever waits, listens or asked. */
export class Engine {
  readonly options: EngineOptions
  readonly waiters = new Waiters()
  readonly timeouts: Timeouts
  readonly hearing: Hearing
  /** Sessions that are being made, and by how many. */
  readonly beginning = new Map<string, number>()
  readonly #logs: SessionLogs
  readonly #listeners: Listeners
  readonly #settled: Committed
  readonly #precedence = new Precedence()
  #closed = false

  constructor(
    options: EngineOptions,
    told: { settled: Committed; recheck: (sessionId: string) => Promise<void> },
  ) {
    const { store, clock, room, onError } = options
    this.options = options
    this.#settled = told.settled
    this.#listeners = new Listeners(onError)
    this.#logs = new SessionLogs(store, room, (sessionId) => this.hearing.loaded(sessionId))
    this.timeouts = new Timeouts({
      clock,
      expire: async (sessionId, interactionId) =>
        (await this.run(sessionId, { type: 'expire', interactionId })).interaction,
      onError,
    })
    this.hearing = new Hearing({
      logs: this.#logs,
      timeouts: this.timeouts,
      listeners: this.#listeners,
      clock,
      shared: store.shared ?? false,
      recheck: told.recheck,
      onError,
    })
  }

  /**
   * Decides anew for as long as the facts change under it. With `fence` only as long as that holds: for what an agent
   * does that this process runs. One function, as a promise more for each step would cost as much as the steps.
   */
  async run(sessionId: string, command: Command, key?: IdempotencyKey, fence?: Fence): Promise<Ran> {
    let letGo: (() => void) | null = null
    let endAlone: (() => void) | null = null
    try {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        if (!endAlone) {
          while (this.#precedence.isTaken(sessionId)) await this.#precedence.end(sessionId)
          if (attempt === MOST_OVERTAKEN) endAlone = this.#precedence.take(sessionId)
        }
        // Else sessions that come and go could push it out of memory again and again before it is decided.
        if (attempt === 1) letGo = this.#logs.hold(sessionId)
        const recorded = key && (await recall(this.options, key))
        if (recorded) return recorded
        const known = this.log(sessionId)
        const log = known instanceof Promise ? await known : known
        const { seq } = log.state
        const window = windowOf(log.state)
        const looked = lookUp(log, command, this.options)
        const extra = looked instanceof Promise ? await looked : looked
        if (log.stale || windowOf(log.state) !== window) continue
        // What has left the window comes from the store, which does not hold what came since.
        const beyondWindow =
          extra.found !== undefined ||
          (extra.knownCalls?.size ?? 0) > 0 ||
          (extra.placeholders?.size ?? 0) > 0 ||
          extra.imported !== undefined
        if (beyondWindow && log.state.seq !== seq) continue
        const claims: Waiter[] = []
        const now = this.options.clock.now()
        const decidedOn = log.state.seq
        let decision: Decision
        try {
          decision = this.#decide(log.state, command, extra, now, claims)
        } catch (error) {
          this.#release(claims)
          if (!(await this.#holds(log, decidedOn))) continue
          // The same command may have been under way under the same key: then this one ended as that one did.
          const since = key && (await recall(this.options, key))
          if (since) return since
          throw error
        }
        // A kind of the embedder's own may have written to the session while it was asked.
        if (log.state.seq !== decidedOn) {
          this.#release(claims)
          continue
        }
        if (decision.events.length === 0) {
          const ran = await this.#unchanged(log, decision, extra, key)
          if (ran) return ran
          continue
        }
        let ran: Ran
        let result: AppendResult
        try {
          const appended = this.#append(log, decision, { extra, now, claims, key, fence })
          ran = appended.ran
          result = await appended.appending
        } catch (error) {
          this.#failed(log, claims)
          throw error
        }
        if (!result.ok) {
          if (result.conflict === 'fence') this.#fencedOff(claims)
          this.#failed(log, claims)
          if (result.conflict === 'fence' && fence) throw fencedError()
          continue
        }
        const { refusal } = decision
        if (refusal && ran.interaction) throw refusalOf(refusal, viewInteraction(ran.interaction, now))
        return ran
      }
    } finally {
      letGo?.()
      endAlone?.()
    }
    throw new AskbackError(
      'unavailable',
      'Too many others write to this session. Try again with the same key.',
    )
  }

  /** What `project` makes of the state, told only when all of that is durable. */
  async read<T>(sessionId: string, project: (state: SessionState) => T): Promise<T> {
    for (;;) {
      const known = this.log(sessionId)
      const log = known instanceof Promise ? await known : known
      if (log.stale) continue
      const there = isThere(log.state)
      const value = there ? project(log.state) : null
      // Most reads rest on nothing that is under way, and wait for nothing.
      if (!log.idle && !(await log.durable())) continue
      if (there) return value as T
      if (!(await this.hearing.isBehind(log))) throw missing(log.state)
    }
  }

  log(sessionId: string): SessionLog | Promise<SessionLog> {
    if (this.#closed) throw closedError()
    checkId(sessionId, 'session')
    return this.#logs.get(sessionId)
  }

  forget(sessionId: string): void {
    this.#logs.forget(sessionId)
  }

  on(listener: Listener): () => void {
    return this.#listeners.add(listener)
  }

  close(): void {
    this.#closed = true
    this.timeouts.close()
    this.hearing.close()
    this.#listeners.clear()
    this.waiters.rejectAll(closedError())
  }

  get closed(): boolean {
    return this.#closed
  }

  #decide(
    state: SessionState,
    command: Command,
    { found, rule, edit, knownCalls, placeholders, imported }: Looked,
    now: number,
    claims: Waiter[],
  ): Decision {
    const makesIt = command.type === 'start' || command.type === 'adopt'
    if (!makesIt && !isThere(state)) throw missing(state)
    const claimant = (interactionId: string) => {
      const waiter = this.waiters.claim(interactionId)
      if (waiter) claims.push(waiter)
      return waiter?.to ?? null
    }
    const { newId, kind, maxPending } = this.options
    return decide(state, command, {
      now,
      newId,
      kind,
      maxPending,
      claimant,
      found,
      rule,
      edit,
      knownCalls,
      placeholders,
      imported,
    })
  }

  async #unchanged(
    log: SessionLog,
    decision: Decision,
    extra: Looked,
    key?: IdempotencyKey,
  ): Promise<Ran | null> {
    const { interactionId, routed, wait } = decision
    const interaction =
      interactionId === undefined ? undefined : interactionIn(log.state, interactionId, extra)
    if (!(await this.#holds(log, log.state.seq))) return null
    if (key && !wait && !(await this.#record(log, recordOf(key, decision, [])))) return null
    return { events: [], ...optional({ interaction, routed, wait }) }
  }

  /**
   * Whether what was decided at that `seq`, and is checked by no append, may be told. It may rest on an append that is
   * still under way; and where others append too, what has come since may have been there before.
   */
  async #holds(log: SessionLog, seq: number): Promise<boolean> {
    if (!(await log.durable()) || (await this.hearing.isBehind(log))) return false
    return !this.options.store.shared || log.state.seq === seq
  }

  /** Keeps a key that no append brings along. It must not outlive its session, which may be deleted just now. */
  async #record(log: SessionLog, { key, value }: KvWrite): Promise<boolean> {
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
    log: SessionLog,
    decision: Decision,
    { extra, now, claims, key, fence: own }: Appending,
  ): { ran: Ran; appending: Promise<AppendResult> } {
    const { state } = log
    const { interactionId, routed } = decision
    const events = this.#stamp(state, decision, now)
    const settled = settledBy(events, state, extra)
    const kv = key ? [...(decision.kv ?? []), recordOf(key, decision, events)] : decision.kv
    const texts = () => eventTexts(events)
    const fence = own ?? claims.find((waiter) => waiter.fence)?.fence
    const appending = log.append({ events, texts, kv, fence }, () => {
      this.#committed(log, { events, texts }, settled, claims)
    })
    const ran: Ran = { events }
    if (routed !== undefined) ran.routed = routed
    if (interactionId !== undefined) {
      const interaction =
        settled.find((item) => item.interactionId === interactionId) ??
        interactionIn(state, interactionId, extra)
      if (interaction) ran.interaction = interaction
    }
    return { ran, appending }
  }

  #failed(log: SessionLog, claims: Waiter[]): void {
    this.#release(claims)
    this.hearing.lookAgain(log.state.sessionId)
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

  #stamp(state: SessionState, decision: Decision, at: number): SessionEvent[] {
    const { newId } = this.options
    const { sessionId, seq } = state
    const { events, times } = decision
    // In place: they were made for this append, and to copy them all costs as much as to decide.
    return events.map((decided, index) => {
      const event = decided as SessionEvent
      event.seq = seq + 1 + index
      event.id = newId()
      event.sessionId = sessionId
      event.at = times?.[index] ?? at
      return event
    })
  }

  #committed(
    log: SessionLog,
    { events, texts }: { events: SessionEvent[]; texts: () => string[] },
    settled: Interaction[],
    claims: Waiter[],
  ): void {
    // What was claimed before is still handed over.
    this.#settled({ events, settled, claims })
    if (this.#closed) return
    this.timeouts.heed(events)
    const { sessionId, seq } = events.at(-1)!
    this.#listeners.tell({ sessionId, seq, events, texts })
    if (log.snapshotIsDue) log.saveSnapshot().catch(this.options.onError)
  }
}

/** Changes when turns come or leave. */
function windowOf({ trimmed, turns }: SessionState): string {
  return trimmed ? `${turns.length} ${turns.at(-1)?.key}` : ''
}

function isThere(state: SessionState): boolean {
  return state.seq > 0 && !state.ended
}

function missing({ sessionId }: SessionState): AskbackError {
  return new AskbackError('not_found', `There is no session ${sessionId}.`)
}

function fencedError(): AskbackError {
  return new AskbackError('forbidden', 'Another gateway runs the agent of this session now.')
}

function closedError(): AskbackError {
  return new AskbackError('unavailable', 'This desk is closed. What waits stays pending.')
}
