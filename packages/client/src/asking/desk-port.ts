import {
  AskbackError,
  type Actor,
  type CreateSessionBody,
  type Interaction,
  type Json,
  type OpenBody,
  type Repeatable,
  type Session,
  type SessionEvent,
  type ToolResultBody,
  type Via,
} from '@askback/protocol'
import { directChanges, directEvents } from '../transport/direct-events.js'
import type { DirectDesk } from '../transport/direct-host.js'
import type { ChangeItem, InboxPage, RespondInput, StreamItem } from '../transport/transport.js'
import { throughWire, wireCopy } from '../transport/wire-copy.js'
import type { AskingCall, AskingPort, OpenedRequest } from './asking-port.js'

/** A desk in the same process. A host of `@askback/core` and everything else that has a `desk` can be passed as it is. */
export interface DeskTarget {
  desk: AskableDesk
  /**
   * The person in whose name `respond` answers.
   *
   * @default the caller that the desk is bound to by `as`; without one `respond` is refused
   */
  actor?: Actor
}

/**
 * The part of a desk that asking uses. The desk of `@askback/core` satisfies it. It is declared here so that this package does not
 * depend on `core`, which a program that asks a gateway does not need.
 */
export interface AskableDesk extends Omit<DirectDesk, 'sessions'>, DeskPerson {
  createSession(body: CreateSessionBody & Repeatable): Promise<{ session: Session }>
  open(
    input: OpenBody & Repeatable & { sessionId: string; claim: boolean; rendezvous: boolean },
  ): Promise<{ interaction: Interaction; created: boolean }>
  /** Waits until it is settled and, unless `claim` is false, claims the settlement. */
  wait(
    interactionId: string,
    options: { sessionId: string; signal: AbortSignal; claim?: boolean },
  ): Promise<{ interaction: Interaction }>
  cancel(
    input: Repeatable & { sessionId: string; interactionId: string },
  ): Promise<{ interaction: Interaction }>
  /** Logs what an agent does. */
  report(
    input: Repeatable & {
      sessionId: string
      events: { type: 'tool_result'; toolCallId: string; output: Json; isError: boolean }[]
    },
  ): Promise<unknown>
  /** The desk for one person. A desk that is bound to a caller already has none, and answers in the name of that caller. */
  as?(person: { by: Actor; via: Via }): DeskPerson
}

/** The part of a desk that answers in somebody's name. */
export interface DeskPerson {
  respond(input: Repeatable & RespondInput): Promise<{ interaction: Interaction }>
}

/** In one read of the log. */
const MAX_EVENTS = 1000

/** Asks a desk in the same process. Everything that passes is copied, as over a wire. */
export class DeskPort implements AskingPort {
  readonly #desk: AskableDesk
  readonly #actor: Actor | undefined

  constructor({ desk, actor }: DeskTarget) {
    this.#desk = desk
    this.#actor = actor
  }

  async createSession(body: CreateSessionBody, call: AskingCall): Promise<Session> {
    const idempotencyKey = scoped('create', call)
    return (await this.#call(call.signal, () => this.#desk.createSession({ ...body, idempotencyKey })))
      .session
  }

  async open(
    sessionId: string,
    body: OpenBody,
    call: AskingCall & { claim: boolean },
  ): Promise<OpenedRequest> {
    const { interaction, created } = await this.#call(call.signal, async () => {
      const opened = await this.#desk.open({
        ...wireCopy(body),
        sessionId,
        idempotencyKey: scoped('open', call),
        claim: call.claim,
        // As over HTTP: a request that names no tool call looks for the one that it belongs to.
        rendezvous: body.toolCallId === undefined,
      })
      return { interaction: opened.interaction, created: opened.created }
    })
    return { interaction, isClaimed: call.claim && created && interaction.status === 'settled' }
  }

  settled(interaction: Interaction, signal: AbortSignal): Promise<Interaction> {
    return this.#wait(interaction, { signal, claim: false })
  }

  claim(interaction: Interaction, signal: AbortSignal): Promise<Interaction> {
    return this.#wait(interaction, { signal, claim: true })
  }

  async #wait(
    { sessionId, interactionId }: Interaction,
    options: { signal: AbortSignal; claim: boolean },
  ): Promise<Interaction> {
    return this.#call(options.signal, async () => {
      const { interaction } = await this.#desk.wait(interactionId, { sessionId, ...options })
      return interaction
    })
  }

  async cancel(
    { sessionId, interactionId }: Pick<Interaction, 'sessionId' | 'interactionId'>,
    call: AskingCall,
  ): Promise<void> {
    const idempotencyKey = scoped('cancel', call)
    await this.#call(call.signal, () => this.#desk.cancel({ sessionId, interactionId, idempotencyKey }))
  }

  async reportResult(
    { sessionId, toolCallId }: Pick<Interaction, 'sessionId' | 'toolCallId'>,
    { output, isError = false }: ToolResultBody,
    call: AskingCall,
  ): Promise<void> {
    const idempotencyKey = scoped('result', call)
    const event = { type: 'tool_result', toolCallId, output, isError } as const
    await this.#call(call.signal, async () => {
      await this.#desk.report({ sessionId, events: [event], idempotencyKey })
    })
  }

  eventsBefore(sessionId: string, before: number, signal: AbortSignal): Promise<SessionEvent[]> {
    return this.#call(signal, () => this.#desk.events(sessionId, { before, limit: MAX_EVENTS }))
  }

  async *events(
    sessionId: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<StreamItem, undefined> {
    // Unfinished blocks are no events of the log.
    const host = { desk: this.#desk, liveBlocks: () => [], onLive: () => () => undefined }
    for await (const item of directEvents(host, sessionId, { seq: after }, signal)) yield wireCopy(item)
  }

  inbox(after: string | null, signal: AbortSignal): Promise<InboxPage> {
    return this.#call(signal, () => this.#desk.inbox(after === null ? {} : { after }))
  }

  async *changes(signal: AbortSignal): AsyncGenerator<ChangeItem, undefined> {
    for await (const item of directChanges(this.#desk, signal)) yield wireCopy(item)
  }

  async respond(interaction: Interaction, answer: Json, call: AskingCall): Promise<Interaction> {
    const { sessionId, interactionId, digest } = interaction
    const person = this.#person()
    const idempotencyKey = scoped('respond', call)
    const given = { sessionId, interactionId, digest, answer: wireCopy(answer), idempotencyKey }
    return (await this.#call(call.signal, () => person.respond(given))).interaction
  }

  #person(): DeskPerson {
    if (!this.#desk.as) return this.#desk
    if (this.#actor) return this.#desk.as({ by: this.#actor, via: 'direct' })
    throw new AskbackError('forbidden', 'connect({ desk, actor }) must say in whose name to answer.')
  }

  /** An abort is not an error of the desk: it rejects with its own reason. */
  async #call<Reply>(signal: AbortSignal, call: () => Promise<Reply>): Promise<Reply> {
    signal.throwIfAborted()
    try {
      return await throughWire(call)
    } catch (error) {
      signal.throwIfAborted()
      throw error
    }
  }
}

/** The scope of a key is the operation, as over HTTP. */
function scoped(operation: string, { idempotencyKey }: AskingCall): string {
  return `asking/${operation}/${idempotencyKey}`
}
