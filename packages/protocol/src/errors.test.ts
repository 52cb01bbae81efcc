import { describe, expect, it } from 'vitest'
import { asAskbackError, AskbackError, errorCodes } from './errors.js'

describe('errors', () => {
  it('travel as their code, their message and what they know', () => {
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

  it('whatever was thrown becomes one, and one of ours stays what it is', () => {
    const ours = new AskbackError('forbidden', 'No.')
    expect(asAskbackError(ours)).toBe(ours)
    const cause = new TypeError('inner')
    expect(asAskbackError(cause)).toMatchObject({ code: 'internal', message: 'TypeError: inner', cause })
  })

  it('every code is an error for HTTP and for a shell', () => {
    for (const { status, exit } of Object.values(errorCodes)) {
      expect(status).toBeGreaterThanOrEqual(400)
      expect(exit).toBeGreaterThan(0)
    }
  })
})
