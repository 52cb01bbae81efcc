import type { ModelError, RetryMessage } from './sdk.js'

/** The first retries come so soon that nobody needs to hear of them. */
const WORTH_TELLING_MS = 1000
/** The one after the first: a login that has run out is renewed by then. */
const LOGIN_ATTEMPTS = 2

const LOG_IN =
  'Claude may not use its model: set ANTHROPIC_API_KEY to a key that works, or log in with claude auth login, and send the message again.'

/** What a person should do about it. */
const advice: Partial<Record<ModelError, string>> = {
  authentication_failed: LOG_IN,
  oauth_org_not_allowed: LOG_IN,
  account_on_hold: LOG_IN,
  verification_required: LOG_IN,
  cloud_credential_error: LOG_IN,
  billing_error: 'The account that pays for Claude needs attention: look at its billing page.',
  model_not_found: 'Choose another model for this session.',
  rate_limit: 'The limit of this account is reached: wait a while, and send the message again.',
  overloaded: 'Wait a while, and send the message again.',
  server_error: 'Wait a while, and send the message again.',
}

/** Why a turn has ended without an answer of the model. */
export function failureOf(error: ModelError | null, said: string): string {
  const todo = error === null ? undefined : advice[error]
  if (todo === undefined) return said
  return todo === LOG_IN ? `${todo} It says: ${said}` : `${said} ${todo}`
}

/** Why it is of no use to try again, though the program would; `null` if it may be. */
export function hopeless({ error, attempt, error_status: status }: RetryMessage): string | null {
  const isRefused = advice[error] === LOG_IN && attempt >= LOGIN_ATTEMPTS
  return isRefused ? failureOf(error, `HTTP status ${status ?? 'unknown'}.`) : null
}

/** What a person sees while the program waits to try again; `null` if that is too short to tell. */
export function retryNotice(retry: RetryMessage): string | null {
  const { attempt, max_retries: most, retry_delay_ms: delay } = retry
  if (delay < WORTH_TELLING_MS) return null
  return `${troubleOf(retry)} Claude tries again in ${Math.round(delay / 1000)} s (${attempt} of ${most}). Interrupt it to stop waiting.`
}

function troubleOf({ error, error_status: status }: RetryMessage): string {
  if (status === null) return 'The model cannot be reached.'
  switch (error) {
    case 'rate_limit':
      return `The model takes no more requests for now (${status}).`
    case 'overloaded':
      return `The model is overloaded (${status}).`
    default:
      return `The model failed (${status}).`
  }
}
