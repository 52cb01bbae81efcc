/**
 * One run of AG-UI on a session: what the client wants is written first, and then the events are sent until the session needs a person or has
 * nothing more to do. The run is only a view: if it is cut off, the agent goes on, and another run shows what has happened.
 *
 *   starting --(the answers and the message are durable, and their events are here)--> streaming
 *   streaming --(something is pending, and nothing new came for a moment)--> finished: interrupt
 *   streaming --(no turn is active, nothing is pending)--> finished: success, cancelled or error
 */
import type { BoundHost, Clock, Host, PersonCaller } from '@askback/core'
import {
  AskbackError,
  openInteraction,
  type Interaction,
  type LiveEvent,
  type SessionEvent,
  type SessionStateJson,
} from '@askback/protocol'
import type { CallAccess } from '../access/call-access.js'
import { AguiEvents, type AguiEvent } from './events.js'
import { lastMessage, type RunAgentInput } from './input.js'
import { interruptOf } from './interrupts.js'
import { hasUserMessage, messagesOf } from './messages.js'
import { answer, checkResume } from './resume.js'

/** Agents open the requests of parallel calls one after the other; those that come within this time are in the same interrupt. */
const SETTLE_MS = 100

export interface AguiRunOptions {
  host: Host
  /** The host, bound to the person. */
  bound: BoundHost<PersonCaller>
  access: CallAccess | null
  clock: Clock
  sessionId: string
  input: RunAgentInput
  /** The idempotency key of one write of this person in this thread. */
  keyOf: (...parts: string[]) => string | undefined
  send: (event: AguiEvent) => void
  /** Aborts when the client is gone, its credential was revoked, or the gateway drains. */
  signal: AbortSignal
}

export class AguiRun {
  readonly #options: AguiRunOptions
  readonly #events = new AguiEvents()
  readonly #pending = new Map<string, Interaction>()
  /** Events that are held back: before the snapshot was sent, and while it is checked whether the caller may still read the session. */
  #early: SessionEvent[] | null = []
  /** The `seq` of the last change of tags with which the caller may read the session. */
  #checkedTags = 0
  #seq = 0
  /** Nothing ends before the events up to here were sent. */
  #endsAfter = Infinity
  #activeTurn: string | null = null
  #lastEnd: Extract<SessionEvent, { type: 'turn_ended' }> | null = null
  #lastError: string | null = null
  #session: unknown = null
  #cancelSettle = () => {}
  #finish: () => void = () => {}

  constructor(options: AguiRunOptions) {
    this.#options = options
  }

  /** Resolves when the run has ended, or the signal has aborted. Never rejects. */
  async run(): Promise<void> {
    const { host, sessionId, input, signal } = this.#options
    const { threadId, runId } = input
    const ended = new Promise<void>((resolve) => {
      this.#finish = resolve
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    this.#send({ type: 'RUN_STARTED', threadId, runId })
    let stop = () => {}
    const stopLive = host.onLive((live) => live.sessionId === sessionId && this.#onLive(live.event))
    try {
      // Before the snapshot, so that no event is missed in between.
      ;({ stop } = await host.desk.follow(sessionId, {
        advanced: ({ events }) => this.#onEvents(events),
        gone: () => this.#fail(new AskbackError('not_found', 'This session was deleted.')),
      }))
      const { state, seq, live } = await host.snapshot(sessionId, { fresh: true })
      this.#begin(state, seq, live)
      if (await this.#write(state)) {
        this.#endsAfter = (await host.snapshot(sessionId)).seq
        this.#checkEnd()
      } else this.#interrupt()
      await ended
    } catch (error) {
      this.#fail(error)
    } finally {
      stop()
      stopLive()
      this.#cancelSettle()
    }
  }

  #begin(state: SessionStateJson, seq: number, live: LiveEvent[]): void {
    const { id, agent, title, status, permissionMode } = { ...state, id: state.sessionId }
    this.#session = { id, agent, title, status, permissionMode }
    this.#seq = seq
    this.#activeTurn = state.activeTurnId
    for (const pending of state.pending) this.#pending.set(pending.interactionId, pending)
    this.#send({ type: 'CUSTOM', name: 'askback.session', value: this.#session })
    this.#send({ type: 'MESSAGES_SNAPSHOT', messages: messagesOf(state) })
    const early = this.#early ?? []
    this.#early = null
    for (const event of live) this.#onLive(event)
    this.#onEvents(early)
  }

  /** Answers, and then sends the message. Returns false if something is pending that the client has not answered. */
  async #write(state: SessionStateJson): Promise<boolean> {
    const { bound, access, sessionId, input, keyOf } = this.#options
    const message = lastMessage(input)
    const isNew = message !== null && !hasUserMessage(state, message.id)
    if (input.resume?.length) await access?.check(sessionId, 'answer')
    if (isNew) await access?.check(sessionId, 'message')
    if (input.resume || isNew) {
      const pending = [...this.#pending.values()]
      const resume = await checkResume(input.resume ?? [], pending, { desk: bound.desk, sessionId })
      if (!resume.complete) {
        this.#send({ type: 'CUSTOM', name: 'askback.resume_incomplete', value: { missing: resume.missing } })
        return false
      }
      for (const entry of resume.entries) {
        const key = (interruptId: string) => keyOf('answer', input.runId, interruptId)
        const refused = await answer(entry, { desk: bound.desk, sessionId, access, keyOf: key })
        if (refused) this.#send(refused)
      }
    }
    if (message && isNew) {
      if (message.text === null)
        throw new AskbackError('invalid_request', 'A message needs a text, and can have nothing else.')
      const idempotencyKey = keyOf('message', message.id)
      await bound.message({ sessionId, text: message.text, route: 'agent', idempotencyKey })
    }
    return true
  }

  #onEvents(events: readonly SessionEvent[]): void {
    if (this.#early) {
      this.#early.push(...events)
      return
    }
    for (const [index, event] of events.entries()) {
      if (event.seq <= this.#seq) continue
      if (event.type === 'session_tags' && this.#checkedTags < event.seq && this.#options.access) {
        this.#early = events.slice(index)
        void this.#checkTags(event.seq, this.#options.access)
        return
      }
      this.#seq = event.seq
      this.#fold(event)
      for (const each of this.#events.of(event)) this.#send({ ...each, timestamp: event.at })
    }
    this.#checkEnd()
  }

  /** With other tags the session may be another tenant's. */
  async #checkTags(seq: number, access: CallAccess): Promise<void> {
    try {
      await access.check(this.#options.sessionId, 'read')
    } catch (error) {
      return this.#fail(error)
    }
    this.#checkedTags = seq
    const held = this.#early ?? []
    this.#early = null
    this.#onEvents(held)
  }

  #onLive(event: LiveEvent): void {
    if (this.#early) return
    for (const each of this.#events.ofLive(event)) this.#send(each)
    this.#checkEnd()
  }

  #fold(event: SessionEvent): void {
    switch (event.type) {
      case 'interaction_request':
        this.#pending.set(event.interactionId, openInteraction(event))
        break
      case 'interaction_pending':
        if (!event.pending) this.#pending.delete(event.interactionId)
        break
      case 'turn_started':
        this.#activeTurn = event.turnId
        this.#lastEnd = null
        break
      case 'turn_ended':
        this.#activeTurn = null
        this.#lastEnd = event
        break
      case 'error':
        this.#lastError = event.message
        break
      default:
    }
  }

  #checkEnd(): void {
    this.#cancelSettle()
    if (this.#seq < this.#endsAfter) return
    if (this.#pending.size > 0) {
      const { clock } = this.#options
      this.#cancelSettle = clock.alarm(clock.now() + SETTLE_MS, () => this.#interrupt())
    } else if (this.#activeTurn === null) this.#end()
  }

  #interrupt(): void {
    this.#complete({ type: 'interrupt', interrupts: [...this.#pending.values()].map(interruptOf) })
  }

  #end(): void {
    const { reason } = this.#lastEnd ?? { reason: 'done' }
    if (reason === 'error')
      this.#fail(new AskbackError('internal', this.#lastError ?? 'The agent has failed.'))
    else this.#complete({ type: reason === 'interrupted' ? 'cancelled' : 'success' })
  }

  #complete(outcome: object): void {
    const { threadId, runId } = this.#options.input
    for (const event of this.#events.close()) this.#send(event)
    const pending = [...this.#pending.values()]
    this.#send({ type: 'STATE_SNAPSHOT', snapshot: { session: this.#session, pending } })
    this.#send({ type: 'RUN_FINISHED', threadId, runId, outcome })
    this.#stop()
  }

  #fail(error: unknown): void {
    const { code, message } =
      error instanceof AskbackError ? error : new AskbackError('internal', 'The gateway has failed.')
    for (const event of this.#events.close()) this.#send(event)
    this.#send({ type: 'RUN_ERROR', message, code })
    this.#stop()
  }

  #stop(): void {
    this.#isOver = true
    this.#cancelSettle()
    this.#finish()
  }

  #isOver = false

  #send(event: AguiEvent): void {
    if (!this.#isOver && !this.#options.signal.aborted) this.#options.send(event)
  }
}
