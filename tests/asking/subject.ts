import type { Interaction, Json, SessionEvent } from '@askback/protocol'
import { afterEach, beforeEach, vi } from 'vitest'
import type { Askback, AskedKind } from '@askback/client'

/** A way to ask on a real desk, and the parts around it that a test controls. */
export interface AskingSubject {
  askback: Askback
  /** Another connection of the same program, as after a restart. */
  restarted(): Askback
  /** A person who may answer everything. */
  person: Askback
  /** Pending interactions and the log, as the desk has them. */
  backend: AskingBackend
  /** A kind of the embedder's own, which the desk knows. */
  rating: AskedKind<{ subject: string }, { stars: number }>
  /** `null` if nothing between the program and the desk can fail. */
  faults: AskingFaults | null
  close(): Promise<void>
}

export interface AskingBackend {
  pending(): Promise<Interaction[]>
  interaction(sessionId: string, interactionId: string): Promise<Interaction>
  log(sessionId: string): Promise<SessionEvent[]>
  deleteSession(sessionId: string): Promise<void>
}

export interface AskingFaults {
  /** Cuts every connection. */
  cut(): void
  /** Makes the desk unreachable until `online`. */
  offline(): void
  online(): void
  /** Stops the gateway and starts it again with the same log. */
  restart(): Promise<void>
  /** Answers the next requests with 503. */
  refuse(times: number): void
  /** Lets the next write reach the gateway, and loses its reply. */
  loseNextReply(): void
  /** Lets the next read reach the gateway that returns a settlement, and loses its reply. */
  loseNextSettlement(): void
  /** Delivers events twice and in another order. */
  shuffle(isOn: boolean): void
}

/** Sets up a subject before each test, and closes it afterwards. */
export function subjectOfEachTest(setUp: () => Promise<AskingSubject>): () => AskingSubject {
  let current: AskingSubject | null = null
  beforeEach(async () => void (current = await setUp()))
  afterEach(() => current?.close())
  return () => current!
}

/** The faults of a subject that has some. */
export function faultsOf({ faults }: AskingSubject): AskingFaults {
  if (!faults) throw new Error('Nothing can fail here; this test is for a connection.')
  return faults
}

/** Waits until `check` passes. */
export async function eventually<Result>(check: () => Promise<Result> | Result): Promise<Result> {
  return vi.waitFor(check, { timeout: 30_000, interval: 5 })
}

/** The only request that waits for a person. */
export function onlyPending(subject: AskingSubject): Promise<Interaction> {
  return eventually(async () => {
    const [first, ...others] = await subject.backend.pending()
    if (!first || others.length > 0)
      throw new Error(`${others.length + (first ? 1 : 0)} requests are pending.`)
    return first
  })
}

/** Answers the only request that waits. */
export async function answer(subject: AskingSubject, given: Json): Promise<Interaction> {
  return subject.person.respond(await onlyPending(subject), given)
}

export function picks(...selected: string[]): Json {
  return { answers: [{ selected }] }
}

export function writes(other: string): Json {
  return { answers: [{ selected: [], other }] }
}

/** What a promise rejects with. */
export async function failureOf(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    return { resolved: await promise }
  } catch (error) {
    return error
  }
}
