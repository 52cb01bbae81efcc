import { describe, expect, it } from 'vitest'
import { failureMessage, retryNotice, unrecoverableError } from './model-errors.js'
import type { RetryMessage } from './sdk.js'

const retry = (more: Partial<RetryMessage>): RetryMessage => ({
  type: 'system',
  subtype: 'api_retry',
  attempt: 1,
  max_retries: 10,
  retry_delay_ms: 500,
  error_status: 429,
  error: 'rate_limit',
  ...more,
})

describe('a request to the model that is retried', () => {
  it('is reported if the delay is long enough to be noticed', () => {
    expect(retryNotice(retry({}))).toBeNull()
    expect(retryNotice(retry({ retry_delay_ms: 60_000 }))).toBe(
      'The model takes no more requests for now (429). Claude tries again in 60 s (1 of 10). Interrupt it to stop waiting.',
    )
  })

  it('is stopped only if the login was refused twice', () => {
    const loginRefused = { error: 'authentication_failed', error_status: 401 } as const
    expect(unrecoverableError(retry({ ...loginRefused, attempt: 1 }))).toBeNull()
    expect(unrecoverableError(retry({ ...loginRefused, attempt: 2 }))).toContain('ANTHROPIC_API_KEY')
    expect(unrecoverableError(retry({ attempt: 9 }))).toBeNull()
  })
})

it('an unknown error is reported in its own words', () => {
  expect(failureMessage('unknown', 'Strange.')).toBe('Strange.')
  expect(failureMessage(null, 'Strange.')).toBe('Strange.')
})
