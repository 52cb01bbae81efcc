/** Messages for people when Claude's model cannot be used. */
import type { ModelError, RetryMessage } from './sdk.js'

/** Shorter delays between retries are not worth a notice. */
const MIN_NOTICE_DELAY_MS = 1000
/** Claude Code renews an expired login by itself, so only the second refusal counts. */
const MIN_LOGIN_ATTEMPTS = 2

const LOG_IN =
  'Claude may not use its model: set ANTHROPIC_API_KEY to a key that works, or log in with claude auth login, and send the message again.'

/** What a person can do about an error. */
const ADVICE: Partial<Record<ModelError, string>> = {
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

/** Why a turn has ended without an answer of the model. `said`: the error in Claude Code's words. */
export function failureMessage(error: ModelError | null, said: string): string {
  const advice = error === null ? undefined : ADVICE[error]
  if (advice === undefined) return said
  return advice === LOG_IN ? `${advice} It says: ${said}` : `${said} ${advice}`
}

/** Why a retry cannot succeed, although Claude Code would try; `null` if it may succeed. */
export function unrecoverableError({ error, attempt, error_status: status }: RetryMessage): string | null {
  const isLoginRefused = ADVICE[error] === LOG_IN && attempt >= MIN_LOGIN_ATTEMPTS
  return isLoginRefused ? failureMessage(error, `HTTP status ${status ?? 'unknown'}.`) : null
}

/** What people see while Claude Code waits before a retry; `null` if the wait is too short to be noticed. */
export function retryNotice(retry: RetryMessage): string | null {
  const { attempt, max_retries: maxRetries, retry_delay_ms: delay } = retry
  if (delay < MIN_NOTICE_DELAY_MS) return null
  return `${describeError(retry)} Claude tries again in ${Math.round(delay / 1000)} s (${attempt} of ${maxRetries}). Interrupt it to stop waiting.`
}

function describeError({ error, error_status: status }: RetryMessage): string {
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
