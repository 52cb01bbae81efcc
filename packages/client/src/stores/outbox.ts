import {
  asAskbackError,
  type AskbackError,
  type Interaction,
  type Json,
  type SessionEvent,
} from '@askback/protocol'
import type { Pauses } from '../pauses.js'
import { randomKey } from '../random-key.js'
import { isPassing } from '../transport/http-errors.js'
import { interactionIn } from '../transport/own-answer.js'
import type { RespondInput, Transport } from '../transport/transport.js'

/** An answer on its way. */
export interface Submission extends Readonly<RespondInput> {
  /** `queued` while the gateway cannot be reached: it is sent when that is back. */
  readonly status: 'sending' | 'queued' | 'failed'
  readonly error?: AskbackError
}

export type Outcome = { ok: true; interaction: Interaction } | { ok: false; error: AskbackError }

/**
 * Keeps what is on its way over a reload; `localStorage` will do. Each answer is kept on its own, as several windows may
 * share it.
 */
export interface OutboxStorage {
  /** All that is kept. */
  read(): string[]
  /** `null` forgets it. */
  write(interactionId: string, value: string | null): void
}

export interface OutboxOptions {
  transport: Transport
  pauses: Pauses
  storage?: OutboxStorage | undefined
  newKey?: (() => string) | undefined
}

interface Entry {
  submission: Submission
  key: string
  outcome: Promise<Outcome>
}

type Listener = (news: { sessionId: string; events: SessionEvent[] }) => void

const NONE: ReadonlyMap<string, Submission> = new Map()

/** Answers that are being sent, for as long as it takes: each counts once, however often it is tried. */
export class Outbox {
  readonly #options: OutboxOptions
  readonly #entries = new Map<string, Entry>()
  readonly #bySession = new Map<string, ReadonlyMap<string, Submission>>()
  #all = NONE
  readonly #listeners = new Set<Listener>()
  readonly #closing = new AbortController()

  constructor(options: OutboxOptions) {
    this.#options = options
    for (const value of options.storage?.read() ?? []) {
      const kept = parseKept(value)
      if (kept) this.#add(kept.input, kept.key)
    }
  }

  /** Resolves when it is settled, or when it never will be. A second one while the first is under way is the same. */
  submit(input: RespondInput): Promise<Outcome> {
    const known = this.#entries.get(input.interactionId)
    if (known && known.submission.status !== 'failed') return known.outcome
    return this.#add(input, (this.#options.newKey ?? randomKey)()).outcome
  }

  /** Sends a failed one again. */
  retry(interactionId: string): Promise<Outcome> | null {
    const submission = this.#entries.get(interactionId)?.submission
    return submission?.status === 'failed' ? this.submit(inputOf(submission)) : null
  }

  dismiss(interactionId: string): void {
    const entry = this.#entries.get(interactionId)
    if (entry?.submission.status === 'failed') this.#remove(entry.submission, [])
  }

  /** Of all sessions; the same map until something changes. */
  get all(): ReadonlyMap<string, Submission> {
    return this.#all
  }

  /** The same map until something changes. */
  of(sessionId: string): ReadonlyMap<string, Submission> {
    return this.#bySession.get(sessionId) ?? NONE
  }

  on(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The gateway is back. */
  nudge(): void {
    this.#options.pauses.wake()
  }

  close(): void {
    this.#closing.abort()
  }

  #add(input: RespondInput, key: string): Entry {
    const submission: Submission = { ...inputOf(input), status: 'sending' }
    // In a later moment, as the entry must be there when it is told of.
    const outcome = Promise.resolve().then(() => this.#send(entry))
    const entry: Entry = { submission, key, outcome }
    this.#entries.set(input.interactionId, entry)
    this.#keep(input, JSON.stringify({ ...inputOf(input), key }))
    this.#changed(input.sessionId)
    return entry
  }

  async #send(entry: Entry): Promise<Outcome> {
    const { transport, pauses } = this.#options
    const input = inputOf(entry.submission)
    for (let failures = 1; ; failures++) {
      try {
        const { interaction, events } = await transport.respond(input, { idempotencyKey: entry.key })
        this.#remove(input, events)
        return { ok: true, interaction }
      } catch (caught) {
        const error = asAskbackError(caught)
        if (!mayPass(error)) return this.#refused(entry, error)
        this.#set(entry, { ...input, status: 'queued', error })
        await pauses.before(failures, this.#closing.signal)
        // It is sent by whoever finds it in the storage.
        if (this.#closing.signal.aborted) return { ok: false, error }
      }
    }
  }

  #refused(entry: Entry, error: AskbackError): Outcome {
    const input = inputOf(entry.submission)
    // The log shows what became of it: somebody else's answer, or the same question once more.
    if (interactionIn(error)) this.#remove(input, [])
    else {
      this.#keep(input, null)
      this.#set(entry, { ...input, status: 'failed', error })
    }
    return { ok: false, error }
  }

  #set(entry: Entry, submission: Submission): void {
    entry.submission = submission
    this.#changed(submission.sessionId)
  }

  #remove(input: RespondInput, events: SessionEvent[]): void {
    this.#entries.delete(input.interactionId)
    this.#keep(input, null)
    this.#changed(input.sessionId, events)
  }

  #keep({ interactionId }: RespondInput, value: string | null): void {
    this.#options.storage?.write(interactionId, value)
  }

  #changed(sessionId: string, events: SessionEvent[] = []): void {
    const all = [...this.#entries.values()]
    this.#all = new Map(all.map(({ submission }) => [submission.interactionId, submission]))
    const ours = [...this.#all].filter(([, submission]) => submission.sessionId === sessionId)
    if (ours.length === 0) this.#bySession.delete(sessionId)
    else this.#bySession.set(sessionId, new Map(ours))
    for (const listener of this.#listeners) listener({ sessionId, events })
  }
}

/** A login that is over may come back; what the gateway refused otherwise, it will refuse again. */
function mayPass(error: AskbackError): boolean {
  return error.code === 'unauthorized' || (isPassing(error) && error.code !== 'internal')
}

function inputOf({ sessionId, interactionId, answer, digest }: RespondInput): RespondInput {
  return { sessionId, interactionId, answer, ...(digest !== undefined && { digest }) }
}

/** `null` for what was not written by us. */
function parseKept(value: string): { input: RespondInput; key: string } | null {
  try {
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
