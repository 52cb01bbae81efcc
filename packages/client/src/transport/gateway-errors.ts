import { AskbackError, errorCodes, isErrorCode, isRecord, type ErrorCode } from '@askback/protocol'

/** The error of a response that is not a success. It may come from a proxy instead of the gateway, without our JSON. */
export async function errorFromResponse(response: Response): Promise<AskbackError> {
  const body = await readJson(response)
  const retryAfterMs = retryAfterMsOf(response)
  return errorFromBody(isRecord(body) ? body['error'] : undefined, {
    code: codeForStatus(response.status),
    message: `The gateway answered ${response.status}.`,
    details: retryAfterMs === null ? undefined : { retryAfterMs },
  })
}

/** The `error` of a body as an `AskbackError`; `fallback` fills in what it lacks. */
export function errorFromBody(
  error: unknown,
  fallback: { code: ErrorCode; message: string; details?: unknown },
): AskbackError {
  const { code, message, details } = isRecord(error) ? error : {}
  return new AskbackError(
    isErrorCode(code) ? code : fallback.code,
    typeof message === 'string' ? message : fallback.message,
    { details: details ?? fallback.details },
  )
}

/** For a request that got no reply: the gateway may or may not have received it. */
export function unreachable(cause?: unknown): AskbackError {
  return new AskbackError(
    'unavailable',
    'The gateway cannot be reached.',
    cause === undefined ? {} : { cause },
  )
}

/**
 * Whether the same call may succeed later. What the gateway refused, it will refuse again; `internal` is retried because it
 * may come from a gateway that is just failing.
 */
export function isRetryable(error: unknown): boolean {
  return (
    !(error instanceof AskbackError) || errorCodes[error.code].retry !== 'never' || error.code === 'internal'
  )
}

function retryAfterMsOf(response: Response): number | null {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null
}

function codeForStatus(status: number): ErrorCode {
  // Proxies answer so if they cannot reach the gateway.
  if (status === 502 || status === 504) return 'unavailable'
  const known = Object.entries(errorCodes).find(([, entry]) => entry.status === status)
  if (known && isErrorCode(known[0])) return known[0]
  return status < 500 ? 'invalid_request' : 'internal'
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch {
    // A proxy's page, for example.
    return null
  }
}
