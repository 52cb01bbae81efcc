/** Every error a caller can meet. The HTTP status, the CLI's exit code and the retry rule all derive from this table. */
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

export type ErrorCode = keyof typeof errorCodes

export interface ErrorBody {
  error: { code: ErrorCode; message: string; details?: unknown }
}

export class AskbackError extends Error {
  override readonly name = 'AskbackError'
  readonly code: ErrorCode
  readonly details: unknown

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

/** Whatever was thrown, as one of ours. */
export function asAskbackError(error: unknown): AskbackError {
  return error instanceof AskbackError ? error : new AskbackError('internal', String(error), { cause: error })
}
