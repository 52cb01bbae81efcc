import {
  AskbackError,
  copyJson,
  durationMs,
  interactionInError,
  objectOf,
  parseWith,
  sha256Hex,
  type Interaction,
  type Json,
  type OpenBody,
  type SessionEvent,
  type StandardSchema,
} from '@askback/protocol'
import { randomKey, type StreamItem } from '../transport/transport.js'
import { approvalRequest, planRequest } from './approval.js'
import type {
  PlanApproval,
  ApproveOptions,
  AskbackSession,
  AskbackSessionOptions,
  AskedKind,
  AskingOptions,
  Choice,
  ChooseOptions,
  FormOptions,
  ReviewPlanOptions,
  ReadEventsOptions,
  TypedQuestion,
  TypedReplies,
  WithApprovalOptions,
} from './askback.js'
import { Asked, NotAnswered, type AskOutcome } from './asked.js'
import type { AskingPort } from './asking-port.js'
import { FormFromSchema } from './form.js'
import { checkOptionNames } from './option-names.js'
import { outcomeOf, type AskedRequest } from './asked-request.js'
import { findResult, runAndStore } from './stored-result.js'
import { chooseManyRequest, chooseRequest, questionsRequest, textRequest } from './question.js'

const ASKING_OPTIONS = [
  'key',
  'timeout',
  'onTimeout',
  'signal',
  'cancelOn',
  'toolCallId',
  'onOpen',
  'onSettled',
]
const QUESTION_OPTIONS = [...ASKING_OPTIONS, 'header', 'defaultAnswer']
const CHOOSE_OPTIONS = [...QUESTION_OPTIONS, 'allowOther']
const APPROVE_OPTIONS = [...ASKING_OPTIONS, 'title', 'description', 'reason', 'preview', 'schema']
const FORM_OPTIONS = [...ASKING_OPTIONS, 'message', 'initialValues', 'defaultAnswer']
const SESSION_OPTIONS = ['cwd', 'title']

/** A bound for the search below: nobody deletes the session of the same name that often. */
const MAX_DELETED_SESSIONS = 100

/** The session of `connect`, on whatever way to its desk. */
export class PortSession implements AskbackSession {
  readonly #port: AskingPort
  readonly #session: string | { id: string }
  readonly #options: AskbackSessionOptions
  /** Aborts when the connection is closed. */
  readonly #closed: AbortSignal
  #id: Promise<string> | null = null

  constructor(
    port: AskingPort,
    session: string | { id: string },
    options: AskbackSessionOptions,
    closed: AbortSignal,
  ) {
    checkOptionNames(options, SESSION_OPTIONS, 'session()')
    if (typeof session === 'string' ? session === '' : typeof session?.id !== 'string')
      throw new AskbackError('invalid_request', 'A session is a name or { id }.')
    this.#port = port
    this.#session = session
    this.#options = options
    this.#closed = closed
  }

  async id({ signal, ...others }: { signal?: AbortSignal } = {}): Promise<string> {
    checkOptionNames(others, [], 'id()')
    return abortable(this.#sessionId(), this.#untilClosed(signal))
  }

  // The overloads of the interface have the types of the labels; here they are texts.
  choose(
    question: string,
    choices: readonly Choice<string>[],
    options: ChooseOptions<string> & { allowOther?: boolean } = {},
  ): Asked<never> {
    return this.#ask(options, CHOOSE_OPTIONS, 'choose()', () => chooseRequest(question, choices, options))
  }

  chooseMany(
    question: string,
    choices: readonly Choice<string>[],
    options: ChooseOptions<readonly string[]> & { allowOther?: boolean } = {},
  ): Asked<never> {
    return this.#ask(options, CHOOSE_OPTIONS, 'chooseMany()', () =>
      chooseManyRequest(question, choices, options),
    )
  }

  askText(question: string, options: ChooseOptions<string> = {}): Asked<string> {
    return this.#ask(options, QUESTION_OPTIONS, 'askText()', () => textRequest(question, options))
  }

  ask<const Questions extends readonly TypedQuestion[]>(
    questions: Questions,
    options: AskingOptions = {},
  ): Asked<TypedReplies<Questions>> {
    return this.#ask(options, ASKING_OPTIONS, 'ask()', () => questionsRequest(questions))
  }

  approve<Input>(toolName: string, input: Input, options: ApproveOptions<Input> = {}): Asked<Input> {
    return this.#ask(options, APPROVE_OPTIONS, 'approve()', () => approvalRequest(toolName, input, options))
  }

  withApproval<Input, Result>(
    toolName: string,
    run: (input: Input) => Result | Promise<Result>,
    options: WithApprovalOptions<Input> = {},
  ): (input: Input, call?: Pick<AskingOptions, 'signal' | 'cancelOn' | 'onOpen'>) => Promise<Result> {
    checkOptionNames(options, APPROVE_OPTIONS, 'withApproval()')
    const { key: keyOf, ...rest } = options
    return async (input, call = {}) => {
      checkOptionNames(call, ['signal', 'cancelOn', 'onOpen'], toolName)
      // Throws unless this call, and no other, got the approval.
      if (!keyOf) return run(await this.approve(toolName, input, { ...rest, ...call }))
      const key = checkedKey(keyOf(input))
      // The result of a tool call that the caller names is reported by the agent whose call it is.
      const isOwnCall = rest.toolCallId === undefined
      const own = isOwnCall && { toolCallId: ownCallId(sha256Hex(key)) }
      const outcome = await this.approve(toolName, input, { ...rest, ...call, ...own, key }).outcome()
      if (outcome.ok)
        return isOwnCall
          ? runAndStore(this.#port, outcome.interaction, () => run(outcome.value))
          : run(outcome.value)
      if (!isOwnCall || outcome.reason !== 'in_doubt') throw new NotAnswered(outcome)
      const stored = await findResult(this.#port, outcome.interaction, this.#untilClosed(call.signal))
      if (!stored) throw new NotAnswered(outcome)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is the JSON of what `run` has returned
      return stored.value as Result
    }
  }

  reviewPlan(plan: string, options: ReviewPlanOptions = {}): Asked<PlanApproval> {
    const known = [...ASKING_OPTIONS, 'planFilePath']
    return this.#ask(options, known, 'reviewPlan()', () => planRequest(plan, options))
  }

  form<Value>(schema: StandardSchema<Value>, options: FormOptions = {}): Asked<Value> {
    return Asked.of(this.#fillForm(schema, options))
  }

  request<Request, Answer>(
    kind: AskedKind<Request, Answer>,
    request: Request,
    options: AskingOptions = {},
  ): Asked<Answer> {
    return this.#ask(options, ASKING_OPTIONS, 'request()', () => ({
      kind: kind.kind,
      request: copyJson(request, 'request'),
      read: ({ answer }) => ({
        value: parseWith(kind.answer, answer, { code: 'invalid_answer', what: 'the answer' }),
      }),
    }))
  }

  async *events(options: ReadEventsOptions = {}): AsyncGenerator<SessionEvent, undefined> {
    checkOptionNames(options, ['after', 'signal'], 'events()')
    const { after = 0, signal } = options
    const end = this.#untilClosed(signal)
    try {
      const sessionId = await abortable(this.#sessionId(), end)
      yield* eventsInOrder(this.#port.events(sessionId, after, end), { sessionId, after })
    } catch (error) {
      if (!signal?.aborted) throw error
    }
    this.#closed.throwIfAborted()
  }

  #ask<Value>(
    options: AskingOptions,
    known: readonly string[],
    method: string,
    prepare: () => AskedRequest<unknown>,
  ): Asked<Value> {
    const settle = async () => {
      checkOptionNames(options, known, method)
      const prepared = prepare()
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the types of the interface follow from what was asked, which the desk has checked
      return outcomeOf(await this.#settle(prepared, options), prepared.read) as AskOutcome<Value>
    }
    return Asked.of(settle())
  }

  /** The values that the schema refuses are asked for again, until the deadline of the first request. */
  async #fillForm<Value>(schema: StandardSchema<Value>, options: FormOptions): Promise<AskOutcome<Value>> {
    checkOptionNames(options, FORM_OPTIONS, 'form()')
    const form = new FormFromSchema(schema, options)
    let prepared = form.first()
    let asking: AskingOptions = options
    for (let times = 1; ; times += 1) {
      const interaction = await this.#settle(prepared, asking)
      const outcome = outcomeOf(interaction, prepared.read)
      if (!outcome.ok) return outcome
      if (outcome.value.fits) return { ...outcome, value: outcome.value.value }
      prepared = form.again(outcome.value.values, outcome.value.problems)
      asking = { ...options, timeout: timeLeft(interaction) }
      // The same number of times leads to the same request, so a restarted program finds it by its key.
      if (options.key !== undefined) asking.key = `${options.key}\n${times}`
    }
  }

  /** Opens a request and waits until it is settled. */
  async #settle(prepared: AskedRequest<unknown>, options: AskingOptions): Promise<Interaction> {
    const { cancelOn, onOpen, onSettled } = options
    const signal = this.#untilClosed(options.signal)
    signal.throwIfAborted()
    cancelOn?.throwIfAborted()
    const { interaction, isClaimed } = await this.#open(prepared, options, signal)
    onOpen?.(interaction)
    if (isClaimed) return interaction
    const cancelled = cancelOn && AbortSignal.any([cancelOn])
    const settled = await this.#cancelOn(cancelled, interaction, this.#port.settled(interaction, signal))
    await onSettled?.(settled)
    return this.#port.claim(settled, signal)
  }

  async #open(prepared: AskedRequest<unknown>, options: AskingOptions, signal: AbortSignal) {
    const { key } = options
    const claim = options.onSettled === undefined
    // Keys are hashed, because a header cannot have every character.
    const idempotencyKey = key === undefined ? randomKey() : sha256Hex(checkedKey(key))
    const body = openBody(prepared, options, typeof this.#session === 'string' ? idempotencyKey : null)
    const open = async () => this.#port.open(await this.#sessionId(), body, { idempotencyKey, signal, claim })
    try {
      return await abortable(open(), signal)
    } catch (error) {
      const isGone = error instanceof AskbackError && error.code === 'not_found'
      if (!isGone || typeof this.#session !== 'string') throw error
      // Somebody deleted the session of this name: it is made again.
      this.#id = null
      return abortable(open(), signal)
    }
  }

  /** Cancels the request when the signal aborts. The wait then ends with the cancellation, or with an answer that was faster. */
  async #cancelOn(
    signal: AbortSignal | undefined,
    interaction: Interaction,
    waited: Promise<Interaction>,
  ): Promise<Interaction> {
    if (!signal) return waited
    let stop = () => {}
    const cancelFailed = new Promise<never>((_, reject) => {
      const cancel = () => void this.#cancel(interaction).catch(reject)
      stop = () => signal.removeEventListener('abort', cancel)
      if (signal.aborted) cancel()
      else signal.addEventListener('abort', cancel, { once: true })
    })
    try {
      return await Promise.race([waited, cancelFailed])
    } finally {
      stop()
    }
  }

  async #cancel(interaction: Pick<Interaction, 'sessionId' | 'interactionId'>): Promise<void> {
    try {
      const call = { idempotencyKey: randomKey(), signal: this.#untilClosed(undefined) }
      await this.#port.cancel(interaction, call)
    } catch (error) {
      if (!(error instanceof AskbackError) || error.code !== 'already_settled') throw error
      const { sessionId } = interaction
      const next = interactionInError(error)?.supersededBy
      // A reprompted form is pending under another id (L6). Any other settlement is what the wait ends with.
      if (next !== undefined) await this.#cancel({ sessionId, interactionId: next })
    }
  }

  #sessionId(): Promise<string> {
    if (typeof this.#session !== 'string') return Promise.resolve(this.#session.id)
    const known = this.#id ?? this.#findSession(this.#session)
    this.#id = known
    // The next call tries again.
    known.catch(() => {
      if (this.#id === known) this.#id = null
    })
    return known
  }

  /** The session that was made under the key of this name. The key of a deleted session stays used: then the next key counts. */
  async #findSession(name: string): Promise<string> {
    const body = { agent: null, title: name, ...this.#options }
    const key = sha256Hex(`session ${name}`)
    for (let deleted = 0; ; deleted += 1) {
      const idempotencyKey = deleted === 0 ? key : `${key}.${deleted}`
      try {
        const call = { idempotencyKey, signal: this.#untilClosed(undefined) }
        return (await this.#port.createSession(body, call)).id
      } catch (error) {
        if (!(error instanceof AskbackError)) throw error
        // It was made with another title or folder.
        if (error.code === 'idempotency_mismatch') return sessionIn(error)
        if (error.code !== 'not_found' || deleted === MAX_DELETED_SESSIONS) throw error
      }
    }
  }

  /** A signal for one call: many listeners on a shared one would make Node.js warn of a leak. */
  #untilClosed(signal: AbortSignal | undefined): AbortSignal {
    return AbortSignal.any(signal ? [signal, this.#closed] : [this.#closed])
  }
}

/** `ownCall` is set where no agent reports tool calls, so that the desk need not wait for the call that asks. */
function openBody(
  { kind, toolName, request, defaultAnswer }: AskedRequest<unknown>,
  { timeout, onTimeout, toolCallId }: AskingOptions,
  ownCall: string | null,
): OpenBody {
  if (onTimeout !== undefined && onTimeout !== 'deny' && onTimeout !== 'keep')
    throw new AskbackError('invalid_request', 'onTimeout is "deny" or "keep"; defaultAnswer has an answer.')
  if (onTimeout !== undefined && defaultAnswer !== undefined)
    throw new AskbackError('invalid_request', 'onTimeout and defaultAnswer exclude each other.')
  const atDeadline: Json | undefined = defaultAnswer === undefined ? onTimeout : { answer: defaultAnswer }
  const call = toolCallId ?? (ownCall === null ? undefined : ownCallId(ownCall))
  return {
    kind,
    request,
    ...(toolName !== undefined && { toolName }),
    ...(call !== undefined && { toolCallId: call }),
    ...(timeout !== undefined && { timeoutMs: durationMs(timeout, 'timeout') }),
    ...(atDeadline !== undefined && { onTimeout: atDeadline }),
  }
}

/** The id of the tool call of a request that belongs to no call of an agent. */
function ownCallId(idempotencyKey: string): string {
  return `ask_${idempotencyKey}`
}

/** An empty key, or none where a function should make one, would make requests that no restarted program finds. */
function checkedKey(key: unknown): string {
  if (typeof key === 'string' && key !== '') return key
  throw new AskbackError('invalid_request', 'A key is a text that is not empty.')
}

/** From the log alone, so that it is the same in a program that was restarted. */
function timeLeft({ expiresAt, settledAt }: Interaction): number | 'never' {
  return expiresAt === undefined || settledAt === undefined ? 'never' : Math.max(expiresAt - settledAt, 1)
}

function sessionIn(error: AskbackError): string {
  const { sessionId } = objectOf(error.details)
  if (typeof sessionId === 'string') return sessionId
  throw error
}

/** The call goes on when the signal aborts, since other callers may share it. */
async function abortable<Result>(call: Promise<Result>, signal: AbortSignal): Promise<Result> {
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    const abort = () => reject(signal.reason)
    stop = () => signal.removeEventListener('abort', abort)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
  try {
    return await Promise.race([call, aborted])
  } finally {
    stop()
  }
}

/** The durable events of a stream, each once and in the order of the log. A stream may bring an event twice or early. */
async function* eventsInOrder(
  items: AsyncIterable<StreamItem>,
  { sessionId, after }: { sessionId: string; after: number },
): AsyncGenerator<SessionEvent, undefined> {
  const early = new Map<number, SessionEvent>()
  let seq = after
  for await (const item of items) {
    if (item.type === 'resync')
      throw new AskbackError('not_found', `The log of the session ${sessionId} has no event ${after}.`)
    if (item.type !== 'event' || item.event.seq <= seq) continue
    early.set(item.event.seq, item.event)
    for (let next = early.get(seq + 1); next; next = early.get(seq + 1)) {
      seq += 1
      early.delete(seq)
      yield next
    }
  }
}
