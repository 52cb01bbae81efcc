import { describe, expect, it } from 'vitest'
import { failureOf, hopeless, retryNotice } from './model-trouble.js'
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

describe('a request to the model that is tried again', () => {
  it('is told of once a person would notice the wait', () => {
    expect(retryNotice(retry({}))).toBeNull()
    expect(retryNotice(retry({ retry_delay_ms: 60_000 }))).toBe(
      'The model takes no more requests for now (429). Claude tries again in 60 s (1 of 10). Interrupt it to stop waiting.',
    )
  })

  it('is given up if the login was refused twice, and nothing else is', () => {
    const refused = { error: 'authentication_failed', error_status: 401 } as const
    expect(hopeless(retry({ ...refused, attempt: 1 }))).toBeNull()
    expect(hopeless(retry({ ...refused, attempt: 2 }))).toContain('ANTHROPIC_API_KEY')
    expect(hopeless(retry({ attempt: 9 }))).toBeNull()
  })
})

it('a failure that nobody knows is said as it is', () => {
  expect(failureOf('unknown', 'Strange.')).toBe('Strange.')
  expect(failureOf(null, 'Strange.')).toBe('Strange.')
})
