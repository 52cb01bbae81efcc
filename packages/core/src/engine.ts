import {
  AskbackError,
  openInteraction,
  settleInteraction,
  viewInteraction,
  type Interaction,
  type SessionEvent,
  type SessionState,
} from '@askback/protocol'
import type { Clock } from './clock.js'
import type { Command, Decision } from './command.js'
import { Deadlines } from './deadlines.js'
import { decide } from './decide.js'
import { eventTexts } from './event-texts.js'
import { recall, recordOf, refusalOf, type IdempotencyKey, type Ran } from './idempotency.js'
import type { InteractionKind } from './kinds.js'
import { lookUp, type IsInside, type Looked } from './lookups.js'
import type { SessionLog } from './session-log.js'
import { SessionLogs } from './session-logs.js'
import { optional } from './optional.js'
import type { AppendResult, Fence, Store } from './store.js'
import { Waiters, type Waiter } from './waiters.js'

export interface EngineOptions {
  store: Store
  clock: Clock
  newId: () => string
  kind: (name: string) => InteractionKind | undefined
  isInside: IsInside
  maxPending: number
  /** How many sessions stay in memory when nothing happens in them. */
  keepSessions: number
  /** For what happens in the background and has no caller to tell. */
  onError: (error: unknown) => void
}

/** `events` may be empty, or not the next ones for whoever listens: the log itself is in the store. */
export type Listener = (appended: {
  sessionId: string
  seq: number
  events: SessionEvent[]
  /** The same as JSON, one text each. */
  texts: () => string[]
}) => void

/** Told after each commit of this process; `settled` before anyone had claimed them. */
export type Committed = (appended: {
  events: SessionEvent[]
  settled: Interaction[]
  claims: Waiter[]
}) => void

/** Told when a session may hold what this process did not append. */
export type Heard = (sessionId: string) => Promise<void>

/** With what an append was decided. */
interface Appending {
  extra: Looked
  now: number
  claims: Waiter[]
  key: IdempotencyKey | undefined
  fence: Fence | undefined
}

const MAX_ATTEMPTS = 100
const RETRY_MS = 1000

/** Runs commands: look up, decide, append, and only when that is durable tell whoever waits, listens or asked. */
export class Engine {
  readonly waiters = new Waiters()
  /** Sessions that were heard of while the store could not be read: who waits in them is looked after later. */
  readonly unheard = new Set<string>()
  readonly options: EngineOptions
  readonly #logs: SessionLogs
  readonly #deadlines: Deadlines
  readonly #listeners = new Set<Listener>()
  readonly #settled: Committed
  readonly #heard: Heard
  #closed = false

  constructor(options: EngineOptions, told: { settled: Committed; heard: Heard }) {
    this.options = options
    this.#settled = told.settled
    this.#heard = told.heard
    this.#logs = new SessionLogs(options.store, options.keepSessions, (sessionId) => {
      // It may have been read with what others appended while it was not in memory.
      if (options.store.shared) this.#lookAfter(sessionId).catch(options.onError)
    })
    this.#deadlines = new Deadlines(options.clock, (deadline) => this.#expire(deadline))
  }

  /**
   * Decides anew for as long as the facts change under it. With `fence` only as long as that holds: for what an agent
   * does that this process runs. One function, as a promise more for each step would cost as much as the steps.
   */
  async run(sessionId: string, command: Command, key?: IdempotencyKey, fence?: Fence): Promise<Ran> {
    let letGo: (() => void) | null = null
    try {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
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
          extra.found !== undefined || (extra.knownCalls?.size ?? 0) > 0 || extra.imported !== undefined
        if (beyondWindow && log.state.seq !== seq) continue
        const claims: Waiter[] = []
        const now = this.options.clock.now()
        let decision: Decision
        try {
          decision = this.#decide(log.state, command, extra, now, claims)
        } catch (error) {
          release(claims)
          // What is refused may rest on an append that is still under way.
          if (!(await log.durable()) || (await this.#isBehind(log))) continue
          // The same command may have been under way under the same key: then this one ended as that one did.
          const since = key && (await recall(this.options, key))
          if (since) return since
          throw error
        }
        if (decision.events.length === 0) {
          const ran = await this.#unchanged(log, decision, extra, key)
          if (ran) return ran
          continue
        }
        const { ran, appending } = this.#append(log, decision, { extra, now, claims, key, fence })
        let result: AppendResult
        try {
          result = await appending
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
      if (!(await this.#isBehind(log))) throw missing(log.state)
    }
  }

  log(sessionId: string): SessionLog | Promise<SessionLog> {
    if (this.#closed) throw closedError()
    return this.#logs.get(sessionId)
  }

  forget(sessionId: string): void {
    this.#logs.forget(sessionId)
  }

  setDeadline(sessionId: string, interactionId: string, at: number): void {
    if (!this.#closed) this.#deadlines.set({ sessionId, interactionId, at })
  }

  on(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Somebody appended. If it was another process, this one catches up and looks again at what is waited for. */
  async hear(ring: { sessionId: string; seq: number }): Promise<void> {
    try {
      if (!(await this.#catchUp(ring))) return
    } catch (error) {
      this.unheard.add(ring.sessionId)
      throw error
    }
    await this.#lookAfter(ring.sessionId)
  }

  /** As it does of its own appends. */
  knows({ sessionId, seq }: { sessionId: string; seq: number }): boolean {
    return (this.#logs.peek(sessionId)?.state.seq ?? -1) >= seq
  }

  async #lookAfter(sessionId: string): Promise<void> {
    try {
      await this.#heard(sessionId)
    } catch (error) {
      this.unheard.add(sessionId)
      throw error
    }
  }

  /** Resolves to whether there may be news. */
  async #catchUp({ sessionId, seq }: { sessionId: string; seq: number }): Promise<boolean> {
    if (this.#closed || this.knows({ sessionId, seq })) return false
    const log = this.#logs.peek(sessionId)
    const events = log && !log.stale ? await log.catchUp() : []
    // Nothing new: either it was known, or the session was made anew and this is the log of the old one.
    if (log && events.length === 0 && (await log.isCurrent())) return false
    this.setDeadlines(events)
    this.#tell({ sessionId, seq: events.at(-1)?.seq ?? seq, events, texts: eventTexts(events) })
    return true
  }

  /** Whoever appended them: a process that opens an interaction may be gone at its deadline. */
  setDeadlines(events: SessionEvent[]): void {
    for (const event of events) {
      if (event.type === 'interaction_request') this.#arm(event)
      if (event.type === 'interaction_response') this.#deadlines.delete(event.interactionId)
    }
  }

  close(): void {
    this.#closed = true
    this.#deadlines.clear()
    this.#listeners.clear()
    this.waiters.rejectAll(closedError())
  }

  get closed(): boolean {
    return this.#closed
  }

  #decide(
    state: SessionState,
    command: Command,
    { found, rule, edit, knownCalls, imported }: Looked,
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
    if (!(await log.durable()) || (await this.#isBehind(log))) return null
    if (key && !wait) {
      const write = recordOf(key, decision, [])
      if (!(await this.options.store.kv.put(write.key, write.value, null))) return null
    }
    return { events: [], ...optional({ interaction, routed, wait }) }
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
    const texts = eventTexts(events)
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
    release(claims)
    this.#lookAgain(log.state.sessionId)
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
    if (this.#closed) return
    for (const event of events) if (event.type === 'interaction_request') this.#arm(event)
    for (const { interactionId } of settled) this.#deadlines.delete(interactionId)
    this.#settled({ events, settled, claims })
    const { sessionId, seq } = events.at(-1)!
    this.#tell({ sessionId, seq, events, texts })
    if (log.snapshotIsDue) log.saveSnapshot().catch(this.options.onError)
  }

  /** A decision that appends nothing is not checked by an append: where others append too, it is by a look at the log. */
  async #isBehind(log: SessionLog): Promise<boolean> {
    const { sessionId, seq } = log.state
    if (!this.options.store.shared || (await log.isCurrent())) return false
    await this.hear({ sessionId, seq: seq + 1 })
    return true
  }

  /**
   * After an append that failed: others were faster, and their doorbell was taken for ours, or it was written and nobody
   * knows. Makes up for what that would have armed, told and woken.
   */
  #lookAgain(sessionId: string): void {
    const look = async () => {
      const { state } = await this.log(sessionId)
      for (const id of state.pending) this.#arm(state.interactions.get(id)!)
      this.#tell({ sessionId, seq: state.seq, events: [], texts: () => [] })
      await this.#heard(sessionId)
    }
    look().catch((error: unknown) => {
      if (this.#closed) return
      const { clock, onError } = this.options
      onError(error)
      clock.alarm(clock.now() + RETRY_MS, () => this.#lookAgain(sessionId))
    })
  }

  #expire({ sessionId, interactionId }: { sessionId: string; interactionId: string }): void {
    this.run(sessionId, { type: 'expire', interactionId }).then(
      // Still pending: the clock was set back on the way here.
      ({ interaction }) => interaction?.status === 'pending' && this.#arm(interaction),
      (error: unknown) => {
        if (this.#closed || (error instanceof AskbackError && error.code === 'not_found')) return
        this.options.onError(error)
        this.setDeadline(sessionId, interactionId, this.options.clock.now() + RETRY_MS)
      },
    )
  }

  #arm(asked: Pick<Interaction, 'sessionId' | 'interactionId' | 'expiresAt' | 'onTimeout'>): void {
    const { sessionId, interactionId, expiresAt, onTimeout } = asked
    if (expiresAt !== undefined && onTimeout !== 'keep') this.setDeadline(sessionId, interactionId, expiresAt)
  }

  #tell(appended: Parameters<Listener>[0]): void {
    for (const listener of this.#listeners) {
      try {
        listener(appended)
      } catch (error) {
        this.options.onError(error)
      }
    }
  }
}

/** The interactions that these events settle, as they are before anyone has claimed them. */
function settledBy(events: SessionEvent[], state: SessionState, extra: Looked): Interaction[] {
  const settled: Interaction[] = []
  for (const event of events) {
    if (event.type !== 'interaction_response') continue
    const { interactionId } = event
    const item = interactionIn(state, interactionId, extra) ?? openedBy(events, interactionId)
    if (item) settled.push(settleInteraction(item, event))
  }
  return settled
}

function openedBy(events: SessionEvent[], interactionId: string): Interaction | undefined {
  for (const event of events) {
    if (event.type === 'interaction_request' && event.interactionId === interactionId)
      return openInteraction(event)
  }
  return undefined
}

function interactionIn(state: SessionState, interactionId: string, extra: Looked): Interaction | undefined {
  const { found } = extra
  return state.interactions.get(interactionId) ?? (found?.interactionId === interactionId ? found : undefined)
}

/** Changes when turns come or leave. */
function windowOf({ trimmed, turns }: SessionState): string {
  return trimmed ? `${turns.length} ${turns.at(-1)?.key}` : ''
}

function release(claims: Waiter[]): void {
  for (const waiter of claims) waiter.released()
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
