import {
  asAskbackError,
  interactionInError,
  type AskbackError,
  type Backoff,
  type Interaction,
  type Json,
  type SessionEvent,
} from '@askback/protocol'
import { isRetryable } from '../transport/gateway-errors.js'
import { randomKey, type RespondInput, type Transport } from '../transport/transport.js'

/** An answer that is being sent, or that could not be sent. */
export interface Submission extends Readonly<RespondInput> {
  /** `queued`: the gateway cannot be reached, and the answer is sent when it is back. `failed`: the gateway refused it. */
  readonly status: 'sending' | 'queued' | 'failed'
  readonly error?: AskbackError
}

/** How sending an answer ended: a refusal is a value, not an exception. */
export type SubmissionResult = { ok: true; interaction: Interaction } | { ok: false; error: AskbackError }

/**
 * Stores answers over a reload, for example in `localStorage`. Each answer is an entry of its own, because several windows may
 * share the storage.
 */
export interface OutboxStorage {
  /** All entries. */
  read(): string[]
  /** Writes the entry of an interaction; `null` removes it. */
  write(interactionId: string, value: string | null): void
}

export interface OutboxOptions {
  transport: Transport
  backoff: Backoff
  storage?: OutboxStorage | undefined
  newKey?: (() => string) | undefined
}

interface OutboxEntry {
  submission: Submission
  key: string
  outcome: Promise<SubmissionResult>
}

type OutboxListener = (change: { sessionId: string; events: SessionEvent[] }) => void

const NONE: ReadonlyMap<string, Submission> = new Map()

/**
 * Sends answers until each is accepted or refused. It retries with backoff under one idempotency key, so an answer counts once
 * however often it is sent.
 *
 *   submit ──▶ sending ──(accepted, or settled by somebody else)──▶ removed
 *                │  └──(refused)──▶ failed ──(retry)──▶ sending
 *                └──(unreachable)──▶ queued ──(backoff, retryNow)──▶ sent again
 */
export class Outbox {
  readonly #options: OutboxOptions
  readonly #entries = new Map<string, OutboxEntry>()
  readonly #bySession = new Map<string, ReadonlyMap<string, Submission>>()
  #all = NONE
  readonly #listeners = new Set<OutboxListener>()
  readonly #closing = new AbortController()

  constructor(options: OutboxOptions) {
    this.#options = options
    for (const value of options.storage?.read() ?? []) {
      const stored = parseStored(value)
      if (stored) this.#add(stored.input, stored.key)
    }
  }

  /**
   * Sends an answer. Resolves when it is accepted or refused; it never rejects. While an answer to the same interaction is being
   * sent, that one is returned and the second is ignored.
   */
  submit(input: RespondInput): Promise<SubmissionResult> {
    const known = this.#entries.get(input.interactionId)
    if (known && known.submission.status !== 'failed') return known.outcome
    return this.#add(input, (this.#options.newKey ?? randomKey)()).outcome
  }

  /** Sends a failed answer again; `null` if there is none. */
  retry(interactionId: string): Promise<SubmissionResult> | null {
    const submission = this.#entries.get(interactionId)?.submission
    return submission?.status === 'failed' ? this.submit(inputOf(submission)) : null
  }

  /** Removes a failed answer. */
  dismiss(interactionId: string): void {
    const entry = this.#entries.get(interactionId)
    if (entry?.submission.status === 'failed') this.#remove(entry.submission, [])
  }

  /** The answers of all sessions, by interaction; the same map until something changes. */
  get all(): ReadonlyMap<string, Submission> {
    return this.#all
  }

  /** The answers of one session, by interaction; the same map until something changes. */
  of(sessionId: string): ReadonlyMap<string, Submission> {
    return this.#bySession.get(sessionId) ?? NONE
  }

  /** Calls `listener` after each change, with the events that an accepted answer has appended. */
  on(listener: OutboxListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Sends queued answers now: call it when the gateway is back. */
  retryNow(): void {
    this.#options.backoff.retryNow()
  }

  close(): void {
    this.#closing.abort()
  }

  #add(input: RespondInput, key: string): OutboxEntry {
    const submission: Submission = { ...inputOf(input), status: 'sending' }
    // Not before the entry is in the map, as sending notifies listeners.
    const outcome = Promise.resolve().then(() => this.#send(entry))
    const entry: OutboxEntry = { submission, key, outcome }
    this.#entries.set(input.interactionId, entry)
    this.#store(input, JSON.stringify({ ...inputOf(input), key }))
    this.#changed(input.sessionId)
    return entry
  }

  async #send(entry: OutboxEntry): Promise<SubmissionResult> {
    const { transport, backoff } = this.#options
    const input = inputOf(entry.submission)
    for (let failures = 1; ; failures++) {
      try {
        const { interaction, events } = await transport.respond(input, { idempotencyKey: entry.key })
        this.#remove(input, events)
        return { ok: true, interaction }
      } catch (caught) {
        const error = asAskbackError(caught)
        if (!mayBeAcceptedLater(error)) return this.#refused(entry, error)
        this.#set(entry, { ...input, status: 'queued', error })
        await backoff.wait(failures, this.#closing.signal)
        // The next client with the same storage sends it.
        if (this.#closing.signal.aborted) return { ok: false, error }
      }
    }
  }

  #refused(entry: OutboxEntry, error: AskbackError): SubmissionResult {
    const input = inputOf(entry.submission)
    // The log shows what happened instead: another answer, or a request that replaces this one.
    if (interactionInError(error)) this.#remove(input, [])
    else {
      this.#store(input, null)
      this.#set(entry, { ...input, status: 'failed', error })
    }
    return { ok: false, error }
  }

  #set(entry: OutboxEntry, submission: Submission): void {
    entry.submission = submission
    this.#changed(submission.sessionId)
  }

  #remove(input: RespondInput, events: SessionEvent[]): void {
    this.#entries.delete(input.interactionId)
    this.#store(input, null)
    this.#changed(input.sessionId, events)
  }

  #store({ interactionId }: RespondInput, value: string | null): void {
    this.#options.storage?.write(interactionId, value)
  }

  #changed(sessionId: string, events: SessionEvent[] = []): void {
    const all = [...this.#entries.values()]
    this.#all = new Map(all.map(({ submission }) => [submission.interactionId, submission]))
    const ofSession = [...this.#all].filter(([, submission]) => submission.sessionId === sessionId)
    if (ofSession.length === 0) this.#bySession.delete(sessionId)
    else this.#bySession.set(sessionId, new Map(ofSession))
    for (const listener of this.#listeners) listener({ sessionId, events })
  }
}

/** The person may log in again. An answer that failed as `internal` might fail the same way for ever, so the person decides. */
function mayBeAcceptedLater(error: AskbackError): boolean {
  return error.code === 'unauthorized' || (isRetryable(error) && error.code !== 'internal')
}

function inputOf({ sessionId, interactionId, answer, digest }: RespondInput): RespondInput {
  return { sessionId, interactionId, answer, ...(digest !== undefined && { digest }) }
}

/** `null` if the value was not written by an outbox. */
function parseStored(value: string): { input: RespondInput; key: string } | null {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- may be any JSON: each field is checked below
    const { sessionId, interactionId, answer, digest, key } = JSON.parse(value) as Partial<
      Record<string, Json>
    >
    if (typeof sessionId !== 'string' || typeof interactionId !== 'string' || typeof key !== 'string')
      return null
    const input = { sessionId, interactionId, answer: answer ?? null }
    return { input: { ...input, ...(typeof digest === 'string' && { digest }) }, key }
  } catch {
    return null
  }
}
