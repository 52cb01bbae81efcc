import {
  adoptBody,
  answerToolCallInput,
  AskbackError,
  cancelInput,
  copyJson,
  createSessionInput,
  messageInput,
  permissionMode,
  progressInput,
  repeatable,
  reported,
  reportInput,
  reportToolCallInput,
  respondInput,
  sessionOf,
  sessionTagsInput,
  type AdoptBody,
  type AuditAct,
  type CreateSessionBody,
  type Interaction,
  type MessageBody,
  type MessageRoute,
  type OpenInput,
  type PermissionMode,
  type Repeatable,
  type Session,
  type SessionEvent,
  type SessionTags,
  type ToolCall,
  type ToolCallBody,
} from '@askback/protocol'
import type { Adoption, AdoptOptions } from '../adopt/adoption.js'
import {
  actedBy,
  checkIsPerson,
  namedCaller,
  parseCallInput as parse,
  receiverOf,
  type Caller,
  type PersonCaller,
} from '../decide/caller.js'
import type { Command, ReportedEvent } from '../decide/command.js'
import type { InteractionKind } from '../kinds/kinds.js'
import { ruleKey } from '../decide/rules.js'
import { optional } from '../optional.js'
import { createSession, ensureSession } from './commands/create-session.js'
import { openInteraction, type RequestLimits } from './commands/open.js'
import {
  answerToolCall,
  checkKnownByCall,
  reportToolCall,
  type ToolCallAnswer,
} from './commands/tool-calls.js'
import { checkId, type ControlResult, type Opened, type WaitOptions } from './desk-options.js'
import { DeskReader } from './desk-reader.js'
import type { Engine } from './engine.js'
import { keyOf, recall, recordOf, sessionKey } from './idempotency.js'
import type { Maintenance } from './maintenance.js'
import { SessionHandle, type SessionDefaults } from './session.js'
import { settlementOf, type Settlement } from './settlement.js'
import type { StopSignal } from './waiters.js'
import { pollFor, readAndClaim, waitFor } from './waiting.js'

/** What all callers of a desk share. */
export interface DeskParts {
  engine: Engine
  adoption: Adoption
  maintenance: Maintenance
  requestLimits: RequestLimits
  maxSessions: number
  kinds: ReadonlyMap<string, InteractionKind>
}

type ControlCommand = Extract<Command, { type: 'interrupt' | 'clear' | 'set_mode' | 'set_tags' }>

/**
 * A desk as one caller uses it: `desk.as(caller)` makes one. Each command acts in the name of that caller. It is small, so make
 * one per credential, connection or request.
 */
export class BoundDesk<Who extends Caller = Caller> extends DeskReader {
  readonly caller: Who
  readonly #parts: DeskParts
  readonly #engine: Engine

  /** @internal */
  constructor(parts: DeskParts, caller: Who) {
    super(parts.engine)
    this.caller = caller
    this.#parts = parts
    this.#engine = parts.engine
  }

  /** Returns a handle. The session is created on first use, unless it exists or `defaults` is `null`. */
  session(id: string, defaults: SessionDefaults | null = {}): SessionHandle {
    return new SessionHandle(this, id, defaults)
  }

  async createSession(
    input: CreateSessionBody & Repeatable & { id?: string; source?: string } = {},
  ): Promise<{ session: Session; created: boolean }> {
    const { id, source, idempotencyKey, ...body } = parse(createSessionInput, input, 'the session')
    const { maxSessions } = this.#parts
    const options = { ...optional({ id, source, idempotencyKey }), maxSessions }
    return createSession(this.#engine, this.caller, body, options)
  }

  async ensureSession(id: string, defaults: SessionDefaults): Promise<void> {
    const { id: _, ...body } = parse(createSessionInput, { ...defaults, id }, 'the session')
    const { maxSessions } = this.#parts
    await ensureSession(this.#engine, this.caller, body, { id, maxSessions })
  }

  /** Adopts a session that an agent has run elsewhere. Adopting it again writes nothing. */
  async adopt(
    this: BoundDesk<PersonCaller>,
    body: AdoptBody,
    { tags: given, mayRead }: AdoptOptions = {},
  ): Promise<{ session: Session; created: boolean }> {
    checkIsPerson(this.caller, 'adopt a session')
    const history = parse(adoptBody, copyJson(body, 'the history'), 'the history')
    const tags = given && parse(sessionTagsInput, given, 'the tags')
    const by = personOf(this.caller)
    const { sessionId, created } = await this.#parts.adoption.adopt(history, { by, tags, mayRead })
    return { session: await this.#engine.read(sessionId, sessionOf), created }
  }

  /** The id of the session here that `adopt` would return for this history, or `null`. */
  findAdopted(body: AdoptBody): Promise<string | null> {
    return this.#parts.adoption.find(parse(adoptBody, body, 'the history'))
  }

  open(input: OpenInput): Promise<Opened> {
    return openInteraction(this.#engine, this.caller, input, this.#parts.requestLimits)
  }

  async respond(
    input: Repeatable & {
      sessionId?: string
      interactionId: string
      answer: unknown
      digest?: string | undefined
      /** Set by a caller that has seen the tool call, but does not know which of its interactions the person saw. */
      toolCallId?: string | undefined
    },
  ): Promise<{ interaction: Interaction; events: SessionEvent[] }> {
    checkIsPerson(this.caller, 'answer')
    const given = parse(respondInput, input, 'the answer')
    const answer = copyJson(given.answer, 'answer')
    const { interactionId, digest, toolCallId, idempotencyKey } = given
    const sessionId = given.sessionId ?? (await this.#sessionOf(interactionId))
    const key =
      idempotencyKey === undefined
        ? undefined
        : sessionKey(sessionId, 'respond', idempotencyKey, { interactionId, answer, digest })
    if (toolCallId !== undefined && digest === undefined)
      await checkKnownByCall(this.#engine, { sessionId, toolCallId, interactionId }, key)
    const { by, via = 'direct', fence } = this.caller
    const command = { type: 'respond', interactionId, answer, via, digest, by } as const
    const ran = await this.#engine.run(sessionId, command, { key, fence })
    return { interaction: this.#engine.view(ran.interaction!), events: ran.events }
  }

  /** Answers the question or approval of a tool call, by the id of the call. */
  async answerToolCall(
    input: Repeatable & ToolCallAnswer & { sessionId: string; toolCallId: string },
  ): Promise<Interaction> {
    checkIsPerson(this.caller, 'answer')
    // Checked before the schema, which would drop fields that must be refused.
    if (input?.kind === 'question') copyJson(input.answers ?? null, 'answers')
    const given = parse(answerToolCallInput, input, 'the answer')
    return this.#engine.view(await answerToolCall(this.#engine, this.caller, given))
  }

  /** Stores the replies to the first questions, for a surface that shows one at a time. */
  async progress(
    input: Repeatable & { sessionId: string; interactionId: string; answers: unknown },
  ): Promise<Interaction> {
    checkIsPerson(this.caller, 'answer')
    const { sessionId, interactionId, idempotencyKey, ...given } = parse(progressInput, input, 'the progress')
    const answers = copyJson(given.answers, 'answers')
    const key = sessionKey(sessionId, 'progress', idempotencyKey, { interactionId, answers })
    const { fence } = this.caller
    const ran = await this.#engine.run(
      sessionId,
      { type: 'progress', interactionId, answers },
      { key, fence },
    )
    return this.#engine.view(ran.interaction!)
  }

  async cancel(
    input: Repeatable & { sessionId?: string; interactionId: string; message?: string },
  ): Promise<{ interaction: Interaction; events: SessionEvent[] }> {
    const given = parse(cancelInput, input, 'the cancel')
    const { interactionId, message, idempotencyKey } = given
    const sessionId = given.sessionId ?? (await this.#sessionOf(interactionId))
    const key = sessionKey(sessionId, 'cancel', idempotencyKey, { interactionId })
    const { by, via, fence } = this.caller
    const command = { type: 'cancel', interactionId, ...optional({ by, via, message }) } as const
    const ran = await this.#engine.run(sessionId, command, { key, fence })
    return { interaction: this.#engine.view(ran.interaction!), events: ran.events }
  }

  /**
   * Waits until an interaction is settled, and claims the settlement for the caller (L10). With `until` it resolves at that time at the
   * latest, with the interaction as it is then, which may be pending; `'now'` reads it without following a reprompt. Aborting `signal`
   * only ends the wait: it cancels nothing.
   *
   * @example
   *   const settled = await desk.wait(interactionId)
   *   const read = await desk.wait(interactionId, { claim: false, until: AbortSignal.timeout(25_000) })
   */
  wait(interactionId: string, options: WaitOptions & { until: StopSignal | 'now' }): Promise<Interaction>
  wait(interactionId: string, options?: WaitOptions): Promise<Settlement>
  wait(
    interactionId: string,
    options: WaitOptions & { until?: StopSignal | 'now' } = {},
  ): Promise<Settlement | Interaction> {
    const refusal = namedCaller(options)
    if (refusal) return Promise.reject(refusal)
    const { sessionId } = options
    if (sessionId !== undefined) return this.#wait({ sessionId, interactionId }, options)
    return this.#sessionOf(interactionId).then((found) =>
      this.#wait({ sessionId: found, interactionId }, options),
    )
  }

  #wait(
    target: { sessionId: string; interactionId: string },
    { claim = true, signal, until }: WaitOptions & { until?: StopSignal | 'now' },
  ): Promise<Settlement | Interaction> {
    const { fence } = this.caller
    const to = claim ? receiverOf(this.caller) : null
    if (until === undefined) return waitFor(this.#engine, target, { to, signal, fence }, settlementOf)
    const read =
      until === 'now'
        ? readAndClaim(this.#engine, target, { to, fence })
        : pollFor(this.#engine, target, { to, signal: until, fence })
    return read.then((item) => this.#engine.view(item))
  }

  async message(
    this: BoundDesk<PersonCaller>,
    input: Repeatable & MessageBody & { sessionId: string },
  ): Promise<MessageRoute & { events: SessionEvent[]; repeated: boolean }> {
    checkIsPerson(this.caller, 'send a message')
    const given = parse(messageInput, input, 'the message')
    const { sessionId, idempotencyKey, text, route = 'auto' } = given
    const { interactionId, questionIndex } = given
    const named = optional({ interactionId, questionIndex })
    const key = sessionKey(sessionId, 'message', idempotencyKey, { text, route, ...named })
    const { via = 'direct', fence } = this.caller
    const command = { type: 'message', text, by: personOf(this.caller), via, route, ...named } as const
    const ran = await this.#engine.run(sessionId, command, { key, fence })
    return {
      routed: ran.routed ?? 'agent',
      events: ran.events,
      repeated: ran.repeated ?? false,
      ...(ran.interaction && { interactionId: ran.interaction.interactionId }),
    }
  }

  /** Logs what an agent does. Repeated events change nothing. */
  async report(input: Repeatable & { sessionId: string; events: ReportedEvent[] }): Promise<SessionEvent[]> {
    const { sessionId, idempotencyKey, ...given } = parse(reportInput, input, 'the report')
    const events = parse(reported, copyJson(given.events, 'events'), 'the report')
    const key = sessionKey(sessionId, 'report', idempotencyKey, { events })
    const { fence } = this.caller
    return (await this.#engine.run(sessionId, { type: 'report', events }, { key, fence })).events
  }

  /** Logs a tool call of an outside agent, with a new id if it has none. */
  async reportToolCall(
    input: ToolCallBody & Repeatable & { sessionId: string; source?: ToolCall['source'] },
  ): Promise<{ toolCall: ToolCall; created: boolean }> {
    const { sessionId, idempotencyKey, ...given } = parse(reportToolCallInput, input, 'the tool call')
    const { source, ...call } = { ...given, input: copyJson(given.input, 'input') }
    const key = sessionKey(sessionId, 'tool-call', idempotencyKey, call)
    return reportToolCall(this.#engine, this.caller, { ...optional({ ...call, source }), sessionId }, key)
  }

  async interrupt(sessionId: string, options: Repeatable = {}): Promise<ControlResult> {
    return this.#control(sessionId, { type: 'interrupt', ...actedBy(this.caller) }, options)
  }

  async clear(sessionId: string, options: Repeatable = {}): Promise<ControlResult> {
    return this.#control(sessionId, { type: 'clear', ...actedBy(this.caller) }, options)
  }

  async setPermissionMode(
    sessionId: string,
    mode: PermissionMode,
    options: Repeatable = {},
  ): Promise<ControlResult> {
    checkIsPerson(this.caller, 'change the permission mode')
    parse(permissionMode, mode, 'the permission mode')
    const command = { type: 'set_mode', mode, via: 'direct', ...actedBy(this.caller) } as const
    return this.#control(sessionId, command, options, { mode })
  }

  /** Replaces all tags of a session. */
  async setTags(sessionId: string, tags: SessionTags, options: Repeatable = {}): Promise<ControlResult> {
    const given = parse(sessionTagsInput, tags, 'the tags')
    const command = { type: 'set_tags', tags: given, via: 'direct', ...actedBy(this.caller) } as const
    return this.#control(sessionId, command, options, { tags: given })
  }

  /** Cancels the pending interactions, ends the session and erases its log. The audit keeps the decisions. */
  async deleteSession(sessionId: string, options: Repeatable = {}): Promise<void> {
    checkIsPerson(this.caller, 'delete a session')
    checkId(sessionId, 'session')
    const { idempotencyKey } = parse(repeatable, options, 'the options')
    // Not a key of the session, which would be erased with it.
    const key =
      idempotencyKey === undefined ? undefined : keyOf(`key/delete/${sessionId}/${idempotencyKey}`, null)
    try {
      const command = { type: 'end', via: 'direct', ...actedBy(this.caller) } as const
      await this.#engine.run(sessionId, command, { key })
    } finally {
      // Also after a failure: the end may have been written, or another deletion may be unfinished.
      await this.#parts.maintenance.erase(sessionId)
    }
  }

  async deleteRule(id: string, options: Repeatable = {}): Promise<void> {
    checkIsPerson(this.caller, 'delete a rule')
    checkId(id, 'rule')
    await deleteRule(this.#engine, this.caller, id, parse(repeatable, options, 'the options'))
  }

  async #control(
    sessionId: string,
    command: ControlCommand,
    options: Repeatable,
    body: object = {},
  ): Promise<ControlResult> {
    const { idempotencyKey } = parse(repeatable, options, 'the options')
    const key = sessionKey(sessionId, command.type, idempotencyKey, body)
    const { fence } = this.caller
    const { repeated = false, turnId } = await this.#engine.run(sessionId, command, { key, fence })
    return { repeated, ...(turnId !== undefined && { turnId }) }
  }

  async #sessionOf(interactionId: string): Promise<string> {
    checkId(interactionId, 'interaction')
    const item = await this.#engine.options.store.interaction(interactionId)
    if (item) return item.sessionId
    throw new AskbackError('not_found', `There is no interaction ${interactionId}.`)
  }
}

/** Checked at run time for callers without types, whose desk may not be bound to a person. */
function personOf({ by }: Caller) {
  if (by) return by
  throw new AskbackError('invalid_request', 'This needs a person: use desk.as({ by: { id } }).')
}

async function deleteRule(
  { options }: Engine,
  { by, via = 'direct' }: Caller,
  id: string,
  { idempotencyKey }: Repeatable,
): Promise<void> {
  const { kv } = options.store
  const seen = idempotencyKey === undefined ? undefined : keyOf(`key/rule/${idempotencyKey}`, { id })
  if (seen && (await recall(options, seen))) return
  const key = ruleKey(id)
  let deleted = false
  while (!deleted) {
    const entry = key === null ? null : await kv.get(key)
    if (!entry) throw new AskbackError('not_found', `There is no rule ${id}.`)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `ruleWrite` writes these entries
    const { sessionId } = Object(entry.value) as { sessionId?: string }
    const act: AuditAct = {
      at: options.clock.now(),
      act: 'rule_deleted',
      via,
      subject: id,
      ...optional({ by, sessionId }),
    }
    deleted = await kv.put(entry.key, null, entry.version, act)
  }
  if (seen) await kv.put(seen.key, recordOf(seen, { events: [] }, []).value, null)
}
