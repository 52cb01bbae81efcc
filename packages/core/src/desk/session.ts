import type {
  ApprovalAnswer,
  ApprovalRequest,
  CreateSessionBody,
  FormAnswer,
  FormRequest,
  Interaction,
  Json,
  OnTimeout,
  PlanReviewAnswer,
  PlanReviewRequest,
  QuestionAnswer,
  QuestionRequest,
} from '@askback/protocol'
import { AskbackError } from '@askback/protocol'
import type { Reported } from '../decide/command.js'
import type { EditScope } from '../decide/edit-target.js'
import type { InteractionKind } from '../kinds/kinds.js'
import type { Fence } from '../store/store.js'
import type { Desk } from './desk.js'
import type { Opened, OpenInput, SessionSnapshot } from './desk-options.js'
import { settlementOf, type Settlement } from './settlement.js'
import { checkSignal } from './waiters.js'

export type SessionDefaults = CreateSessionBody

/** Of every way to ask. */
export interface AskOptions {
  toolName?: string
  toolCallId?: string
  /** The caller owns the tool call: asking again takes up the same interaction (L11). */
  attach?: boolean
  /**
   * How long to wait for a person, in milliseconds; `null` waits for ever.
   *
   * @default `timeouts.defaultMs` of the desk, which is 600000 (10 minutes) unless set
   */
  timeoutMs?: number | null
  onTimeout?: OnTimeout
  turnId?: string
  responseId?: string
  agentId?: string
  edit?: OpenInput['edit']
  idempotencyKey?: string
  /** Stops waiting; the interaction stays pending. */
  signal?: AbortSignal
  /** Cancels the interaction when it aborts: whoever asked does not need the answer any more. */
  cancelOn?: AbortSignal
}

/** One session from an agent's side: each call asks a person and resolves with how it ended. */
export class SessionHandle {
  readonly id: string
  readonly #desk: Desk
  readonly #defaults: SessionDefaults
  readonly #fence: Fence | undefined

  constructor(desk: Desk, id: string, defaults: SessionDefaults, fence?: Fence) {
    this.#fence = fence
    this.id = id
    this.#desk = desk
    this.#defaults = defaults
  }

  /** For adapters that classify an edit of their agent, which runs in `cwd`. */
  editScope(cwd: string | null): Promise<EditScope> {
    return this.#existing(() => this.#desk.editScope(this.id, cwd))
  }

  ask(request: QuestionRequest & AskOptions): Promise<Settlement<QuestionAnswer>> {
    return this.#ask('question', request, ['questions'])
  }

  approve(request: ApprovalRequest & AskOptions & { toolName: string }): Promise<Settlement<ApprovalAnswer>> {
    const beside = ['title', 'description', 'reason', 'blockedPath', 'suggestions', 'preview'] as const
    return this.#ask('approval', request, ['input', ...beside])
  }

  reviewPlan(request: PlanReviewRequest & AskOptions): Promise<Settlement<PlanReviewAnswer>> {
    return this.#ask('plan_review', request, ['plan', 'planFilePath'])
  }

  form(request: FormRequest & AskOptions): Promise<Settlement<FormAnswer>> {
    return this.#ask('form', request, ['message', 'schema', 'initialValues'])
  }

  /** Asks with a kind of one's own. */
  request<Request, Answer>(
    kind: InteractionKind<Request, Answer>,
    request: Request,
    options: AskOptions = {},
  ): Promise<Settlement<Answer>> {
    return this.#request(kind?.kind, request, options)
  }

  /** How an interaction that was opened before ended; claims that (L10). Aborting only stops waiting. */
  wait(interactionId: string, signal?: AbortSignal): Promise<Settlement> {
    return this.#desk.wait(interactionId, signal, { sessionId: this.id, fence: this.#fence })
  }

  /** Like `wait` for someone who only looks on: claims nothing. */
  watch(interactionId: string, signal?: AbortSignal): Promise<Interaction> {
    return this.#desk.watch(this.id, interactionId, signal)
  }

  /** Tells the log what the agent does. */
  async report(...events: Reported[]): Promise<void> {
    await this.#existing(() => this.#desk.report({ sessionId: this.id, events, fence: this.#fence }))
  }

  snapshot(): Promise<SessionSnapshot> {
    return this.#existing(() => this.#desk.snapshot(this.id))
  }

  pending(): Promise<Interaction[]> {
    return this.#existing(async () => (await this.#desk.snapshot(this.id)).state.pending)
  }

  /** Makes the session if it is not there yet. */
  async #existing<T>(use: () => Promise<T>): Promise<T> {
    try {
      return await use()
    } catch (error) {
      if (!(error instanceof AskbackError) || error.code !== 'not_found') throw error
      await this.#desk.ensureSession(this.id, this.#defaults)
      return use()
    }
  }

  /** Of what was given, `fields` are the request, and the rest says how to ask. */
  #ask<Given extends AskOptions, Answer>(
    kind: string,
    given: Given,
    fields: (keyof Given)[],
  ): Promise<Settlement<Answer>> {
    const request: Partial<Given> = {}
    // Nothing at all is refused like a request in which everything is missing.
    for (const field of fields) if (given?.[field] !== undefined) request[field] = given[field]
    return this.#request(kind, request, given ?? {})
  }

  #request<Answer>(kind: string, request: unknown, options: AskOptions): Promise<Settlement<Answer>> {
    const { signal, cancelOn } = options
    // Chained: a function that awaits would keep the request in memory for as long as the person takes.
    return this.#open(kind, request, options).then(({ interaction, created }) => {
      const { interactionId } = interaction
      const settled =
        created && interaction.status === 'settled'
          ? settlementOf(interaction)
          : this.#cancelOn(
              cancelOn,
              interactionId,
              this.#desk.wait(interactionId, signal, { sessionId: this.id, fence: this.#fence }),
            )
      // The kind's own schema has parsed the answer.
      return settled as Settlement<Answer> | Promise<Settlement<Answer>>
    })
  }

  /** The wait ends by the cancellation, or by the answer that came first. */
  #cancelOn<T>(signal: AbortSignal | undefined, interactionId: string, waited: Promise<T>): Promise<T> {
    if (!signal) return waited
    // It may have been settled just now: then the wait ends by that.
    const cancel = () => void this.#cancel(interactionId).catch(() => {})
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel, { once: true })
    return waited.finally(() => signal.removeEventListener('abort', cancel))
  }

  async #cancel(interactionId: string): Promise<void> {
    // A form that was asked again is pending under another id (L6).
    const { supersededBy } = await this.#desk.interaction(this.id, interactionId)
    if (supersededBy !== undefined) return this.#cancel(supersededBy)
    await this.#desk.cancel({ sessionId: this.id, interactionId })
  }

  #open(kind: string, request: unknown, options: AskOptions): Promise<Opened> {
    const { toolName, toolCallId, attach, timeoutMs, onTimeout, turnId, responseId, agentId, edit } = options
    return this.#existing(() => {
      if (options.signal !== undefined) {
        checkSignal(options.signal)
        options.signal.throwIfAborted()
      }
      options.cancelOn?.throwIfAborted()
      return this.#desk.open({
        sessionId: this.id,
        kind,
        request: request as Json,
        claimAs: CLAIMANT,
        fence: this.#fence,
        toolName,
        toolCallId,
        attach,
        timeoutMs,
        onTimeout,
        turnId,
        responseId,
        agentId,
        edit,
        idempotencyKey: options.idempotencyKey,
      })
    })
  }
}

const CLAIMANT = 'desk'
