/**
 * Every error code, in one table. The HTTP status, the exit code of the CLI and the retry rule derive from it. `retry` is
 * `later` where the same request may succeed after a pause, and `same_key` where it is not known whether the request took
 * effect, so that it must be repeated under the same idempotency key.
 */
export const errorCodes = {
  invalid_request: { status: 400, exit: 2, retry: 'never' },
  invalid_answer: { status: 400, exit: 2, retry: 'never' },
  unknown_kind: { status: 400, exit: 2, retry: 'never' },
  unauthorized: { status: 401, exit: 7, retry: 'never' },
  forbidden: { status: 403, exit: 7, retry: 'never' },
  not_found: { status: 404, exit: 1, retry: 'never' },
  already_settled: { status: 409, exit: 1, retry: 'never' },
  digest_mismatch: { status: 409, exit: 1, retry: 'never' },
  idempotency_mismatch: { status: 409, exit: 1, retry: 'never' },
  ambiguous: { status: 409, exit: 1, retry: 'never' },
  nothing_pending: { status: 409, exit: 1, retry: 'never' },
  needs_decision: { status: 409, exit: 1, retry: 'never' },
  too_large: { status: 413, exit: 2, retry: 'never' },
  unsupported_media_type: { status: 415, exit: 2, retry: 'never' },
  rate_limited: { status: 429, exit: 1, retry: 'later' },
  internal: { status: 500, exit: 1, retry: 'never' },
  unavailable: { status: 503, exit: 6, retry: 'same_key' },
} as const satisfies Record<string, { status: number; exit: number; retry: 'never' | 'later' | 'same_key' }>

/** The code of an error: a key of `errorCodes`. */
export type ErrorCode = keyof typeof errorCodes

/** An error as JSON: the body of an HTTP response that is not a success. */
export interface ErrorBody {
  error: { code: ErrorCode; message: string; details?: unknown }
}

/**
 * The one class of errors that this library throws and the gateway answers with. The message says what happened and what to
 * do; `details` depend on the code, for example `details.interaction` of `already_settled` is the one that was settled.
 *
 * @example
 * throw new AskbackError('not_found', 'There is no session s1.')
 */
export class AskbackError extends Error {
  override readonly name = 'AskbackError'
  readonly code: ErrorCode
  readonly details: unknown

  /**
   * By its fields and not by its class: a plug-in has a copy of this library of its own, and the errors that it throws must count. A
   * subclass has no such rule.
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== AskbackError) return Function.prototype[Symbol.hasInstance].call(this, value)
    if (!(value instanceof Error) || value.name !== 'AskbackError') return false
    return 'code' in value && isErrorCode(value.code) && 'toJSON' in value
  }

  constructor(code: ErrorCode, message: string, options: { details?: unknown; cause?: unknown } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.details = options.details
  }

  toJSON(): ErrorBody {
    const { code, message, details } = this
    return { error: details === undefined ? { code, message } : { code, message, details } }
  }
}

/** @internal */
export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(errorCodes, code)
}

/** Returns an `AskbackError` as it is, and wraps anything else that was thrown as `internal`. */
export function asAskbackError(error: unknown): AskbackError {
  return error instanceof AskbackError ? error : new AskbackError('internal', String(error), { cause: error })
}

/** The message of an error; of anything else that was thrown, the value as a string. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** How many milliseconds to wait before trying again, if the other side said so in `details.retryAfterMs`; else `null`. */
export function retryAfterMsIn(error: unknown): number | null {
  const details = error instanceof AskbackError ? error.details : undefined
  if (typeof details !== 'object' || details === null || !('retryAfterMs' in details)) return null
  return typeof details.retryAfterMs === 'number' ? details.retryAfterMs : null
}
