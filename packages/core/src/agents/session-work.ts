import { AskbackError } from '@askback/protocol'
import type { Clock } from '../clock.js'
import { InOrder } from '../in-order.js'
import { Retry } from '../retry.js'

/**
 * Runs the work of an agent runner: one after the other in each session, and again after a failure, until it succeeds or the session is
 * over for this process. Without retries a turn could stay open for ever.
 */
export class SessionWork {
  readonly #inOrder = new InOrder()
  readonly #retry: Retry

  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#retry = new Retry(clock, onError)
  }

  /** Runs once, after the earlier work of the session. The start of an agent is not waited for. */
  inOrder<T>(sessionId: string, work: () => Promise<T>): Promise<T> {
    return this.#inOrder.run(sessionId, work)
  }

  /** Retries until it succeeds, or the session is deleted or owned by another process. */
  untilDone(work: () => Promise<void>): Promise<void> {
    return this.#retry.attempt(() => work().catch(ignoreIfOver))
  }

  /** Both: each attempt runs after the earlier work of the session. */
  inOrderUntilDone(sessionId: string, work: () => Promise<void>): Promise<void> {
    return this.untilDone(() => this.inOrder(sessionId, work))
  }

  /** For callers inside the session's queue: the first attempt runs at once, retries are queued again. */
  nowThenInOrder(sessionId: string, work: () => Promise<void>): Promise<void> {
    let isFirst = true
    return this.untilDone(() => {
      if (!isFirst) return this.inOrder(sessionId, work)
      isFirst = false
      return work()
    })
  }

  /** Like `untilDone`, for work that belongs to no single session. */
  start(work: () => Promise<void>): Promise<void> {
    return this.#retry.untilDone(work)
  }

  /** Ends the retries. */
  end(): void {
    this.#retry.end()
  }
}

export function isMissing(error: unknown): boolean {
  return error instanceof AskbackError && error.code === 'not_found'
}

export function isFenced(error: unknown): boolean {
  return error instanceof AskbackError && error.code === 'forbidden'
}

export function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null
  throw error
}

/** The session was deleted, or belongs to another process now. */
export function ignoreIfOver(error: unknown): void {
  if (!isMissing(error) && !isFenced(error)) throw error
}
