import { AskbackError, errorCodes, type ErrorCode } from '@askback/protocol'

/** What a response that is not a success says; a proxy on the way may have answered instead of the gateway. */
export async function errorFrom(response: Response): Promise<AskbackError> {
  const body = await readJson(response)
  const told = isObject(body) && isObject(body['error']) ? body['error'] : {}
  const { code, message, details } = told
  const retryAfterMs = retryAfterOf(response)
  return new AskbackError(
    isCode(code) ? code : codeOf(response.status),
    typeof message === 'string' ? message : `The gateway answered ${response.status}.`,
    { details: details ?? (retryAfterMs === null ? undefined : { retryAfterMs }) },
  )
}

/** The request may or may not have arrived. */
export function lost(cause: unknown): AskbackError {
  return new AskbackError('unavailable', 'The gateway cannot be reached.', { cause })
}

/** Whether the same call may go through later: what the gateway refused, it will refuse again. */
export function isPassing(error: unknown): boolean {
  return (
    !(error instanceof AskbackError) || errorCodes[error.code].retry !== 'never' || error.code === 'internal'
  )
}

/** How long the gateway asked to be left alone, in milliseconds. */
export function retryAfterIn(error: unknown): number {
  const details = error instanceof AskbackError ? error.details : undefined
  return isObject(details) && typeof details['retryAfterMs'] === 'number' ? details['retryAfterMs'] : 0
}

function retryAfterOf(response: Response): number | null {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null
}

function codeOf(status: number): ErrorCode {
  if (status === 502 || status === 504) return 'unavailable'
  const known = Object.entries(errorCodes).find(([, entry]) => entry.status === status)
  if (known && isCode(known[0])) return known[0]
  return status < 500 ? 'invalid_request' : 'internal'
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch {
    return null
  }
}

function isCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(errorCodes, code)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
