import { AskbackError, errorCodes, type ErrorBody, type ErrorCode } from '@askback/protocol'
import type { Clock } from '../clock.js'

type Reply = Record<string, unknown>

interface Waiting {
  done: (reply: Reply | AskbackError) => void
  disarm: () => void
}

const TIMEOUT_MS = 30_000

/** What was sent and is not answered yet. */
export class SocketRequests {
  readonly #clock: Clock
  readonly #waiting = new Map<string, Waiting>()
  #count = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The reference to send it under. `done` is called in the order of the frames, before the next one is looked at. */
  expect(done: Waiting['done']): string {
    const ref = String(++this.#count)
    const late = () => this.#settle(ref, unanswered())
    this.#waiting.set(ref, { done, disarm: this.#clock.alarm(this.#clock.now() + TIMEOUT_MS, late) })
    return ref
  }

  answer(ref: unknown, reply: Reply): void {
    this.#settle(String(ref), reply['ok'] === true ? reply : errorOf(reply))
  }

  /** The socket is gone, and with it the replies. */
  lose(): void {
    for (const ref of this.#waiting.keys()) this.#settle(ref, unanswered())
  }

  #settle(ref: string, outcome: Reply | AskbackError): void {
    const waiting = this.#waiting.get(ref)
    this.#waiting.delete(ref)
    waiting?.disarm()
    waiting?.done(outcome)
  }
}

export function unanswered(): AskbackError {
  return new AskbackError('unavailable', 'The gateway cannot be reached.')
}

function errorOf(reply: Reply): AskbackError {
  const told = reply['error'] as Partial<ErrorBody['error']> | undefined
  const code: ErrorCode = told?.code !== undefined && told.code in errorCodes ? told.code : 'internal'
  return new AskbackError(code, told?.message ?? 'The gateway refused.', { details: told?.details })
}
