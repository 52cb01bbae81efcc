import { describe, expect, it } from 'vitest'
import { asAskbackError, AskbackError, errorCodes, errorMessage, retryAfterMsIn } from './errors.js'

describe('errors', () => {
  it('say how long to wait before a retry, if they know', () => {
    const limited = new AskbackError('rate_limited', 'Slow down.', { details: { retryAfterMs: 20 } })
    expect(retryAfterMsIn(limited)).toBe(20)
    for (const details of [undefined, null, 'soon', {}, { retryAfterMs: '20' }])
      expect(retryAfterMsIn(new AskbackError('unavailable', 'Closing.', { details }))).toBeNull()
    expect(retryAfterMsIn({ details: { retryAfterMs: 20 } })).toBeNull()
  })

  it('are code, message and details as JSON', () => {
    const error = new AskbackError('invalid_answer', 'No.', {
      details: { question: 1 },
      cause: new Error('inner'),
    })
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      error: { code: 'invalid_answer', message: 'No.', details: { question: 1 } },
    })
    expect(JSON.parse(JSON.stringify(new AskbackError('internal', 'Oops.')))).toEqual({
      error: { code: 'internal', message: 'Oops.' },
    })
    expect(error.cause).toBeInstanceOf(Error)
    expect(new AskbackError('internal', 'Oops.')).not.toHaveProperty('cause')
  })

  it('wrap anything else that was thrown, and stay as they are', () => {
    const ours = new AskbackError('forbidden', 'No.')
    expect(asAskbackError(ours)).toBe(ours)
    const cause = new TypeError('inner')
    expect(asAskbackError(cause)).toMatchObject({ code: 'internal', message: 'TypeError: inner', cause })
  })

  it('have a status of 400 or more and an exit code that is not 0', () => {
    for (const { status, exit } of Object.values(errorCodes)) {
      expect(status).toBeGreaterThanOrEqual(400)
      expect(exit).toBeGreaterThan(0)
    }
  })
})

it.each([
  ['of an error', new TypeError('It broke.'), 'It broke.'],
  ['of a string', 'It broke.', 'It broke.'],
  ['of nothing', undefined, 'undefined'],
])('says the message %s', (_name, thrown, message) => {
  expect(errorMessage(thrown)).toBe(message)
})

describe('instanceof', () => {
  it('counts an error of another copy of this library, which a plug-in may have', () => {
    const foreign = Object.assign(new Error('No.'), {
      name: 'AskbackError',
      code: 'invalid_answer',
      toJSON: () => ({}),
    })
    expect(foreign).toBeInstanceOf(AskbackError)
  })

  it.each([
    ['another error', new Error('No.')],
    [
      'one with a code that does not exist',
      Object.assign(new Error(), { name: 'AskbackError', code: 'odd', toJSON: () => ({}) }),
    ],
    [
      'an object that looks like one',
      { name: 'AskbackError', code: 'internal', message: '', toJSON: () => ({}) },
    ],
    ['nothing', undefined],
  ])('does not count %s', (_, value) => {
    expect(value instanceof AskbackError).toBe(false)
  })
})
