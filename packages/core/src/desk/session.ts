import type {
  ApprovalRequest,
  CreateSessionBody,
  FormRequest,
  Interaction,
  Json,
  OnTimeout,
  OpenInput,
  PlanReviewRequest,
  QuestionRequest,
} from '@askback/protocol'
import { AskbackError } from '@askback/protocol'
import { namedCaller } from '../decide/caller.js'
import type { ReportedEvent } from '../decide/command.js'
import type { EditScope } from '../decide/edit-target.js'
import type { InteractionKind } from '../kinds/kinds.js'
import type { BoundDesk } from './bound-desk.js'
import type { Opened, SessionSnapshot, WaitOptions } from './desk-options.js'
import {
  settlementOf,
  type ApprovalSettlement,
  type FormSettlement,
  type PlanReviewSettlement,
  type QuestionSettlement,
  type Settlement,
} from './settlement.js'
import { checkSignal } from './waiters.js'

/** How a session is made if it does not exist. */
export type SessionDefaults = CreateSessionBody

/** Options of every way to ask. */
export interface AskOptions extends Pick<
  OpenInput,
  'turnId' | 'responseId' | 'agentId' | 'edit' | 'notes' | 'idempotencyKey'
> {
  toolName?: string
  toolCallId?: string
  /** The caller owns the tool call: asking the same again attaches to the existing interaction (L11). */
  attach?: boolean
  /**
   * How long to wait for a person, in milliseconds; `null` waits without a limit.
   *
   * @default `timeouts.defaultMs` of the desk, which is 600000 (10 minutes) unless set
   */
  timeoutMs?: number | null
  onTimeout?: OnTimeout
  /** Ends the wait; the interaction stays pending. */
  signal?: AbortSignal
  /** Cancels the interaction when it aborts, because the answer is no longer needed. */
  cancelOn?: AbortSignal
}

/**
 * One session as an agent uses it: each call asks a person and resolves with the settlement.
 *
 * @example
 *   const session = desk.session('deploy')
 *   const asked = await session.ask({ questions: [{ question: 'Which region?', header: 'Region', options, multiSelect: false }] })
 *   if (asked.settlement === 'answered') deploy(asked.answer.answers[0].selected)
 */
export class SessionHandle {
  readonly id: string
  readonly #desk: BoundDesk
  /** `null`: it is not made if it is not there. */
  readonly #defaults: SessionDefaults | null

  constructor(desk: BoundDesk, id: string, defaults: SessionDefaults | null) {
    this.id = id
    this.#desk = desk
    this.#defaults = defaults
  }

  /** For adapters, to classify the edits of an agent that runs in `cwd`. */
  editScope(cwd: string | null): Promise<EditScope> {
    return this.#existing(() => this.#desk.editScope(this.id, cwd))
  }

  ask(request: QuestionRequest & AskOptions): Promise<QuestionSettlement> {
    return this.#ask('question', request, ['questions'])
  }

  approve(request: ApprovalRequest & AskOptions & { toolName: string }): Promise<ApprovalSettlement> {
    const beside = ['title', 'description', 'reason', 'blockedPath', 'suggestions', 'preview'] as const
    return this.#ask('approval', request, ['input', ...beside])
  }

  reviewPlan(request: PlanReviewRequest & AskOptions): Promise<PlanReviewSettlement> {
    return this.#ask('plan_review', request, ['plan', 'planFilePath'])
  }

  form(request: FormRequest & AskOptions): Promise<FormSettlement> {
    return this.#ask('form', request, ['message', 'schema', 'initialValues'])
  }

  /** Asks with a kind that was made by `defineInteraction`. */
  request<Request, Answer>(
    kind: InteractionKind<Request, Answer>,
    request: Request,
    options: AskOptions = {},
  ): Promise<Settlement<Answer>> {
    return this.#request(kind?.kind, request, options)
  }

  /** Waits for an interaction that was opened before, and claims its settlement (L10) unless `claim` is false. */
  wait(interactionId: string, options: Pick<WaitOptions, 'signal' | 'claim'> = {}): Promise<Settlement> {
    return this.#desk.wait(interactionId, { ...options, sessionId: this.id })
  }

  /** Adds what the agent does to the log. */
  async report(...events: ReportedEvent[]): Promise<void> {
    await this.#existing(() => this.#desk.report({ sessionId: this.id, events }))
  }

  snapshot(): Promise<SessionSnapshot> {
    return this.#existing(() => this.#desk.snapshot(this.id))
  }

  pending(): Promise<Interaction[]> {
    return this.#existing(async () => (await this.#desk.snapshot(this.id)).state.pending)
  }

  /** Runs `use`, and creates the session if it does not exist. */
  async #existing<T>(use: () => Promise<T>): Promise<T> {
    try {
      return await use()
    } catch (error) {
      if (!this.#defaults || !(error instanceof AskbackError) || error.code !== 'not_found') throw error
      await this.#desk.ensureSession(this.id, this.#defaults)
      return use()
    }
  }

  /** `fields` of `given` are the request; the others are options. */
  #ask<Given extends AskOptions, Settled>(
    kind: string,
    given: Given,
    fields: (keyof Given)[],
  ): Promise<Settled> {
    const request: Partial<Given> = {}
    // A call without an argument is refused like a request without fields.
    for (const field of fields) if (given?.[field] !== undefined) request[field] = given[field]
    return this.#request(kind, request, given ?? {})
  }

  #request<Settled>(kind: string, request: unknown, options: AskOptions): Promise<Settled> {
    const refusal = namedCaller(options)
    if (refusal) return Promise.reject(refusal)
    const { signal, cancelOn } = options
    // `then` instead of `await`: an async function would keep the request in memory until the person answers.
    return this.#open(kind, request, options).then(({ interaction, created }) => {
      const { interactionId } = interaction
      const settled =
        created && interaction.status === 'settled'
          ? settlementOf(interaction)
          : this.#cancelOn(
              cancelOn,
              interactionId,
              this.#desk.wait(interactionId, { signal, sessionId: this.id }),
            )
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the kind has checked the answer and chosen the settlement
      return settled as Settled | Promise<Settled>
    })
  }

  /** Cancels the interaction when the signal aborts. The wait then ends with the cancellation, or with an answer that was faster. */
  #cancelOn<T>(signal: AbortSignal | undefined, interactionId: string, waited: Promise<T>): Promise<T> {
    if (!signal) return waited
    // Fails if the interaction was just settled; the wait ends with that settlement.
    const cancel = () => void this.#cancel(interactionId).catch(() => {})
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel, { once: true })
    return waited.finally(() => signal.removeEventListener('abort', cancel))
  }

  async #cancel(interactionId: string): Promise<void> {
    // A reprompted form is pending under another id (L6).
    const { supersededBy } = await this.#desk.interaction(this.id, interactionId)
    if (supersededBy !== undefined) return this.#cancel(supersededBy)
    await this.#desk.cancel({ sessionId: this.id, interactionId })
  }

  #open(kind: string, request: unknown, options: AskOptions): Promise<Opened> {
    const { toolName, toolCallId, attach, timeoutMs, onTimeout } = options
    const { turnId, responseId, agentId, edit, notes } = options
    return this.#existing(() => {
      if (options.signal !== undefined) {
        checkSignal(options.signal)
        options.signal.throwIfAborted()
      }
      options.cancelOn?.throwIfAborted()
      return this.#desk.open({
        sessionId: this.id,
        kind,
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `open` refuses what is not JSON
        request: request as Json,
        claim: true,
        toolName,
        toolCallId,
        attach,
        timeoutMs,
        onTimeout,
        turnId,
        responseId,
        agentId,
        edit,
        notes,
        idempotencyKey: options.idempotencyKey,
      })
    })
  }
}
