import {
  adoptBody,
  answerToolCallInput,
  AskbackError,
  callOrigin,
  cancelInput,
  copyJson,
  createSessionInput,
  eventsInput,
  messageInput,
  pageInput,
  permissionMode,
  progressInput,
  reported,
  reportInput,
  reportToolCallInput,
  respondInput,
  sessionOf,
  stateToJson,
  viewInteraction,
  type Actor,
  type AdoptBody,
  type AuditRow,
  type CreateSessionBody,
  type Interaction,
  type MessageBody,
  type MessageRoute,
  type PermissionMode,
  type Session,
  type SessionEvent,
  type SessionState,
  type ToolCall,
  type ToolCallBody,
} from '@askback/protocol'
import type { Adoption } from '../adopt/adoption.js'
import { steadyClock, type Clock } from '../clock.js'
import type { Command, ReportedEvent } from '../decide/command.js'
import type { EditScope } from '../decide/edit-target.js'
import { RULES_PREFIX, type ApprovalRule } from '../decide/rules.js'
import { newId as randomId } from '../ids.js'
import { approvalKind } from '../kinds/approval.js'
import { formKind } from '../kinds/form.js'
import { kindsByName, parseInput as parse, type InteractionKind } from '../kinds/kinds.js'
import { planReviewKind } from '../kinds/plan-review.js'
import { questionKind } from '../kinds/question.js'
import { optional } from '../optional.js'
import type { Append, Fence, Page, SessionRow } from '../store/store.js'
import { adoptionOn } from './commands/adopt.js'
import type { AllSessionsListener } from './all-sessions.js'
import { answerToolCall, checkKnownByCall, type ToolCallAnswer } from './commands/answer-tool-call.js'
import { checkId } from './errors.js'
import { checkFollower, checkListener, checkOptions, reportError, safely } from './desk-options.js'
import type { Follower, Head } from './committed.js'
import { createSession, ensureSession } from './commands/create-session.js'
import { deleteRule } from './commands/delete-rule.js'
import type {
  ControlResult,
  DeskOptions,
  OpenInput,
  Opened,
  Origin,
  ReadOptions,
  SessionSnapshot,
  WaitOptions,
} from './desk-options.js'
import { pendingPage, pendingTotals, type InboxPage, type PendingPage } from './inbox.js'
import { Engine } from './engine.js'
import { Maintenance } from './maintenance.js'
import { keyOf, sessionKey } from './idempotency.js'
import type { GoneListener, Listener } from './listeners.js'
import { openInteraction } from './commands/open.js'
import { DEFAULT_TIMEOUT_MS } from './desk-options.js'
import { SessionHandle, type SessionDefaults } from './session.js'
import { settlementOf, type Settlement } from './settlement.js'
import { reportToolCall } from './commands/report-tool-call.js'
import type { StopSignal } from './waiters.js'
import { pollFor, readAndClaim, recheck, resolveWaiters, waitFor } from './waiting.js'

const MAX_REQUEST_BYTES = 1024 * 1024
const MAX_SESSIONS = 10_000
const MAX_STALE_MS = 10_000
/** A hundred thousand sessions that wait for an answer each, and have waited before: a few hundred MB. */
const IN_MEMORY = 2_500_000
const BUILT_IN: InteractionKind[] = [questionKind, approvalKind, planReviewKind, formKind]

type ControlCommand = Extract<Command, { type: 'interrupt' | 'clear' | 'set_mode' }>

/** The coordinator: opens interactions, settles them once, and wakes whoever waits. */
export function createDesk(options: DeskOptions): Desk {
  return new Desk(options)
}

export class Desk {
  /** Deadlines are armed, and what the last process left half done is finished. What fails is tried again until then. */
  readonly ready: Promise<void>
  /** By which deadlines are stamped and met. */
  readonly clock: Clock
  readonly #engine: Engine
  readonly #maintenance: Maintenance
  readonly #adoption: Adoption
  readonly #kinds: ReadonlyMap<string, InteractionKind>
  readonly #protectedPaths: readonly string[]
  readonly #options: DeskOptions
  readonly #maxSessions: number
  readonly #stopListening: () => void

  constructor(options: DeskOptions) {
    checkOptions(options)
    const { store, newId = randomId, limits = {}, onError = reportError } = options
    this.#options = options
    this.#protectedPaths = options.protectedPaths ?? []
    this.#maxSessions = limits.sessions ?? MAX_SESSIONS
    this.clock = options.clock ?? store.clock ?? steadyClock()
    this.#kinds = kindsByName([...BUILT_IN, ...(options.kinds ?? [])])
    this.#engine = new Engine(
      {
        store,
        clock: this.clock,
        newId,
        kind: (name) => this.#kinds.get(name),
        edits: { readLink: options.readLink, protectedPaths: this.#protectedPaths },
        maxPending: limits.pendingPerSession ?? 5000,
        memoryBudget: limits.inMemory ?? IN_MEMORY,
        maxStaleMs: options.maxStaleMs ?? MAX_STALE_MS,
        onError: safely(onError),
      },
      {
        resolveWaiters: (settlements) => resolveWaiters(this.#engine, settlements),
        recheck: (sessionId) => recheck(this.#engine, sessionId),
      },
    )
    this.#adoption = adoptionOn(this.#engine, this.#maxSessions)
    this.#maintenance = new Maintenance(this.#engine, {
      retentionMs: options.retentionMs ?? null,
      repairMs: options.repairMs ?? 5000,
      onStart: () => this.#adoption.start(),
    })
    // Nobody else writes to a store that is not shared.
    this.#stopListening = store.shared
      ? store.onAppend((ring) => this.#engine.onDoorbell(ring))
      : () => undefined
    this.ready = this.#maintenance.start()
  }

  /** A handle; the session is made when it is first used, unless it exists. With `null` for its defaults it is never made. */
  session(id: string, defaults: SessionDefaults | null = {}, fence?: Fence): SessionHandle {
    return new SessionHandle(this, id, defaults, fence)
  }

  async createSession(
    input: CreateSessionBody & Origin & { id?: string; source?: string } = {},
  ): Promise<{ session: Session; created: boolean }> {
    const { id, source, idempotencyKey, by, via, ...body } = parse(createSessionInput, input, 'the session')
    return createSession(this.#engine, body, {
      ...optional({ id, source, idempotencyKey, by, via }),
      maxSessions: this.#maxSessions,
    })
  }

  /** Goes on here with a session that an agent has run elsewhere. A second time nothing is written. */
  async adopt(body: AdoptBody, by: Actor): Promise<{ session: Session; created: boolean }> {
    const history = parse(adoptBody, copyJson(body, 'the history'), 'the history')
    const person = parse(messageInput.shape.by, by, 'who adopts it')
    const { sessionId, created } = await this.#adoption.adopt(history, person)
    return { session: await this.#engine.read(sessionId, sessionOf), created }
  }

  async ensureSession(id: string, defaults: SessionDefaults): Promise<void> {
    const { id: _, ...body } = parse(createSessionInput, { ...defaults, id }, 'the session')
    await ensureSession(this.#engine, body, { id, maxSessions: this.#maxSessions })
  }

  open(input: OpenInput): Promise<Opened> {
    const { limits, timeouts } = this.#options
    return openInteraction(this.#engine, input, {
      maxBytes: limits?.requestBytes ?? MAX_REQUEST_BYTES,
      defaultTimeoutMs: timeouts?.defaultMs === undefined ? DEFAULT_TIMEOUT_MS : timeouts.defaultMs,
    })
  }

  async respond(
    input: Origin & {
      sessionId?: string
      interactionId: string
      answer: unknown
      digest?: string | undefined
      /** Of a caller that has seen the tool call, and not this very interaction. */
      toolCallId?: string | undefined
    },
  ): Promise<{ interaction: Interaction; events: SessionEvent[] }> {
    const given = parse(respondInput, input, 'the answer')
    const answer = copyJson(given.answer, 'answer')
    const { interactionId, digest, toolCallId, by, via = 'direct', idempotencyKey } = given
    const sessionId = given.sessionId ?? (await this.#sessionOf(interactionId))
    const key = sessionKey(sessionId, 'respond', idempotencyKey, { interactionId, answer, digest })
    if (toolCallId !== undefined && digest === undefined)
      await checkKnownByCall(this.#engine, { sessionId, toolCallId, interactionId }, key)
    const command = { type: 'respond', interactionId, answer, via, digest, by } as const
    const ran = await this.#engine.run(sessionId, command, { key })
    return { interaction: this.#view(ran.interaction!), events: ran.events }
  }

  /** The question or approval of a tool call, by the call's id. */
  async answerToolCall(
    input: Origin & ToolCallAnswer & { sessionId: string; toolCallId: string },
  ): Promise<Interaction> {
    // Before the schema, which would leave out what must be refused.
    if (input?.kind === 'question') copyJson(input.answers ?? null, 'answers')
    const given = parse(answerToolCallInput, input, 'the answer')
    return this.#view(await answerToolCall(this.#engine, given))
  }

  /** A question answered in part, on a surface that asks one at a time. */
  async progress(input: {
    sessionId: string
    interactionId: string
    answers: unknown
    idempotencyKey?: string | undefined
  }): Promise<Interaction> {
    const { sessionId, interactionId, idempotencyKey, ...given } = parse(progressInput, input, 'the progress')
    const answers = copyJson(given.answers, 'answers')
    const key = sessionKey(sessionId, 'progress', idempotencyKey, { interactionId, answers })
    const ran = await this.#engine.run(sessionId, { type: 'progress', interactionId, answers }, { key })
    return this.#view(ran.interaction!)
  }

  async cancel(
    input: Origin & { sessionId?: string; interactionId: string; message?: string },
  ): Promise<{ interaction: Interaction; events: SessionEvent[] }> {
    const given = parse(cancelInput, input, 'the cancel')
    const { interactionId, by, via, message, idempotencyKey } = given
    const sessionId = given.sessionId ?? (await this.#sessionOf(interactionId))
    const key = sessionKey(sessionId, 'cancel', idempotencyKey, { interactionId })
    const command = { type: 'cancel', interactionId, ...optional({ by, via, message }) } as const
    const ran = await this.#engine.run(sessionId, command, { key })
    return { interaction: this.#view(ran.interaction!), events: ran.events }
  }

  /**
   * Waits until an interaction is settled, and claims the settlement (L10). With `until` it resolves at that time at the latest, with the
   * interaction as it is then, which may be pending; `'now'` reads it without following a reprompt. Aborting `signal` only ends the wait: it cancels nothing.
   *
   * @example
   *   const settled = await desk.wait(interactionId)
   *   const read = await desk.wait(interactionId, { claimAs: null, until: AbortSignal.timeout(25_000) })
   */
  wait(interactionId: string, options: WaitOptions & { until: StopSignal | 'now' }): Promise<Interaction>
  wait(interactionId: string, options?: WaitOptions): Promise<Settlement>
  wait(
    interactionId: string,
    options: WaitOptions & { until?: StopSignal | 'now' } = {},
  ): Promise<Settlement | Interaction> {
    const { sessionId: given, claimAs: to = 'desk', signal, fence, until } = options
    const wait = (sessionId: string): Promise<Settlement | Interaction> => {
      const target = { sessionId, interactionId }
      if (until === undefined) return waitFor(this.#engine, target, { to, signal, fence }, settlementOf)
      const read =
        until === 'now'
          ? readAndClaim(this.#engine, target, { to, fence })
          : pollFor(this.#engine, target, { to, signal: until, fence })
      return read.then((item) => this.#view(item))
    }
    return given === undefined ? this.#sessionOf(interactionId).then(wait) : wait(given)
  }

  async message(
    input: Origin & MessageBody & { sessionId: string; by: Actor },
  ): Promise<MessageRoute & { events: SessionEvent[]; repeated: boolean }> {
    const given = parse(messageInput, input, 'the message')
    const { sessionId, idempotencyKey, text, by, via = 'direct', route = 'auto' } = given
    const { interactionId, questionIndex } = given
    const named = optional({ interactionId, questionIndex })
    const key = sessionKey(sessionId, 'message', idempotencyKey, { text, route, ...named })
    const ran = await this.#engine.run(
      sessionId,
      { type: 'message', text, by, via, route, ...named },
      { key },
    )
    return {
      routed: ran.routed ?? 'agent',
      events: ran.events,
      repeated: ran.repeated ?? false,
      ...(ran.interaction && { interactionId: ran.interaction.interactionId }),
    }
  }

  /** What an agent tells of its own doing; repeats change nothing. */
  async report(
    input: Pick<Append, 'fence'> & { sessionId: string; events: ReportedEvent[]; idempotencyKey?: string },
  ): Promise<SessionEvent[]> {
    const { sessionId, idempotencyKey, ...given } = parse(reportInput, input, 'the report')
    const events = parse(reported, copyJson(given.events, 'events'), 'the report')
    const key = sessionKey(sessionId, 'report', idempotencyKey, { events })
    return (await this.#engine.run(sessionId, { type: 'report', events }, { key, fence: input.fence })).events
  }

  /** One tool call of an outside agent; it gets an id if it has none. */
  async reportToolCall(
    input: ToolCallBody & Origin & Pick<Append, 'fence'> & { sessionId: string; source?: ToolCall['source'] },
  ): Promise<{ toolCall: ToolCall; created: boolean }> {
    const { sessionId, idempotencyKey, ...given } = parse(reportToolCallInput, input, 'the tool call')
    const { source, ...call } = { ...given, input: copyJson(given.input, 'input') }
    const key = sessionKey(sessionId, 'tool-call', idempotencyKey, call)
    return reportToolCall(this.#engine, { ...optional({ ...call, source }), sessionId }, key, input.fence)
  }

  async interrupt(sessionId: string, by: Origin = {}): Promise<ControlResult> {
    return this.#control(sessionId, { type: 'interrupt', ...who(parse(callOrigin, by, 'the origin')) }, by)
  }

  async clear(sessionId: string, by: Origin = {}): Promise<ControlResult> {
    return this.#control(sessionId, { type: 'clear', ...who(parse(callOrigin, by, 'the origin')) }, by)
  }

  async setPermissionMode(sessionId: string, mode: PermissionMode, by: Origin = {}): Promise<ControlResult> {
    parse(permissionMode, mode, 'the permission mode')
    const { via = 'direct', ...rest } = who(parse(callOrigin, by, 'the origin'))
    return this.#control(sessionId, { type: 'set_mode', mode, via, ...rest }, by, { mode })
  }

  /** Cancels what is pending, ends the session and erases its log. The audit keeps who allowed what. */
  async deleteSession(sessionId: string, by: Origin = {}): Promise<void> {
    checkId(sessionId, 'session')
    const { idempotencyKey, via = 'direct', by: actor } = parse(callOrigin, by, 'the origin')
    // Not a key of the session's own: that would go with it.
    const key =
      idempotencyKey === undefined ? undefined : keyOf(`key/delete/${sessionId}/${idempotencyKey}`, null)
    try {
      await this.#engine.run(sessionId, { type: 'end', via, ...optional({ by: actor }) }, { key })
    } finally {
      // Also if that failed: it may have been written, or somebody else's deletion was left half done.
      await this.#maintenance.erase(sessionId)
    }
  }

  /** For adapters, which classify the edits of their agents by the same rule. The agent runs in `cwd`. */
  async editScope(sessionId: string, cwd: string | null): Promise<EditScope> {
    const protectedPaths = this.#protectedPaths
    // An agent may be run in another folder than the session names.
    return this.#engine.read(sessionId, (state) => ({
      cwd,
      protectedPaths,
      ...(state.cwd === cwd && { realCwd: state.realCwd }),
    }))
  }

  async snapshot(sessionId: string, options: ReadOptions = {}): Promise<SessionSnapshot> {
    const view = (state: SessionState) => {
      const now = this.clock.now()
      const json = stateToJson(state)
      const pending = json.pending.map((item) => viewInteraction(item, now))
      const { seq, logId } = state
      return { session: sessionOf(state), state: { ...json, pending }, seq, now, logId }
    }
    return this.#engine.read(sessionId, view, options)
  }

  /** Fresh unless said otherwise: an agent acts on it. */
  async interaction(
    sessionId: string,
    interactionId: string,
    options: ReadOptions = { fresh: true },
  ): Promise<Interaction> {
    checkId(interactionId, 'interaction')
    const item =
      (await this.#engine.read(sessionId, (state) => state.interactions.get(interactionId), options)) ??
      (await this.#options.store.interaction(interactionId))
    if (item?.sessionId === sessionId) return this.#view(item)
    throw new AskbackError('not_found', `There is no interaction ${interactionId} in this session.`)
  }

  async pending(filter: { sessionId?: string; after?: string; limit?: number } = {}): Promise<PendingPage> {
    return pendingPage(this.#options.store, filter, (item) => this.#view(item))
  }

  /** A page of what is pending in all sessions, with the counts of all pages. */
  async inbox(query: { after?: string; limit?: number } = {}): Promise<InboxPage> {
    return { ...(await this.pending(query)), ...(await pendingTotals(this.#options.store)) }
  }

  async sessions(query: { after?: string; limit?: number } = {}): Promise<Page<SessionRow>> {
    return this.#options.store.sessions({ limit: 100, ...optional(parse(pageInput, query, 'the query')) })
  }

  async audit(query: { after?: string; limit?: number } = {}): Promise<Page<AuditRow>> {
    return this.#options.store.audit({ limit: 1000, ...optional(parse(pageInput, query, 'the query')) })
  }

  async rules(): Promise<ApprovalRule[]> {
    const entries = await this.#options.store.kv.list(RULES_PREFIX)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `ruleWrite` writes these entries
    return entries.map(({ value }) => value as unknown as ApprovalRule)
  }

  async deleteRule(id: string, by: Origin = {}): Promise<void> {
    checkId(id, 'rule')
    await deleteRule(this.#engine, id, parse(callOrigin, by, 'the origin'))
  }

  /** A part of the log: what follows `after`, or what comes before `before`, ascending. */
  async events(
    sessionId: string,
    query: { after?: number; before?: number; limit: number },
  ): Promise<SessionEvent[]> {
    const part = optional(parse(eventsInput, query, 'the query'))
    // What is told must be durable, and of a session that is there.
    await this.#engine.read(sessionId, (state) => state.seq)
    return this.#options.store.read({ sessionId, ...part })
  }

  /** Which agent a session is for, `null` for outside agents: who may use it depends on that. */
  agentOf(sessionId: string): Promise<string | null> {
    return this.#engine.read(sessionId, (state) => state.agent)
  }

  /**
   * Calls `listener` with what became durable, in the order of each session's log, and `gone` when the log of a session is
   * erased. On a store that other processes write to, that is for the sessions that this desk has in memory or follows.
   */
  on(listener: Listener, gone?: GoneListener): () => void {
    checkListener(listener, gone)
    return this.#engine.on(listener, gone)
  }

  /**
   * Tells `follower` every durable event of one session after the returned head, without gaps, until it is stopped. Fails
   * with `not_found` where there is no such session.
   *
   * @example
   *   const { head, stop } = await desk.follow('deploy', {
   *     advanced: ({ events }) => show(events), // from `seq` `head.seq + 1` on
   *     gone: () => clear(), // deleted: nothing follows
   *   })
   */
  async follow(sessionId: string, follower: Follower): Promise<{ head: Head; stop: () => void }> {
    checkFollower(follower)
    return this.#engine.follow(sessionId, follower)
  }

  /**
   * Tells `listener` what becomes durable in all sessions from now on, also of those that other processes write: each call
   * has events of one session. `gone` is called when the log of a session is erased: on a shared store that can happen before
   * its last events were read. What follows is of another log under the same id.
   */
  async followAll(listener: AllSessionsListener, gone?: GoneListener): Promise<() => void> {
    checkListener(listener, gone)
    return this.#engine.allSessions.follow(listener, gone)
  }

  /** Reads what other processes have appended to this session; followers and listeners are told before it resolves. */
  refresh(sessionId: string): Promise<void> {
    return this.#engine.refresh(sessionId)
  }

  /** Stops timers and waiting; what is pending stays so. The store is the caller's to close. */
  close(): void {
    this.#stopListening()
    this.#maintenance.stop()
    this.#engine.close()
  }

  async #control(
    sessionId: string,
    command: ControlCommand,
    by: Origin,
    body: object = {},
  ): Promise<ControlResult> {
    const { idempotencyKey } = parse(callOrigin, by, 'the origin')
    const key = sessionKey(sessionId, command.type, idempotencyKey, body)
    const { repeated = false, turnId } = await this.#engine.run(sessionId, command, { key })
    return { repeated, ...(turnId !== undefined && { turnId }) }
  }

  #view(item: Interaction): Interaction {
    return viewInteraction(item, this.clock.now())
  }

  async #sessionOf(interactionId: string): Promise<string> {
    checkId(interactionId, 'interaction')
    const item = await this.#options.store.interaction(interactionId)
    if (item) return item.sessionId
    throw new AskbackError('not_found', `There is no interaction ${interactionId}.`)
  }
}

function who({ by, via }: Origin) {
  return optional({ by, via })
}
