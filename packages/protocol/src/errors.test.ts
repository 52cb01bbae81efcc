import { describe, expect, it } from 'vitest'
import { AskbackError, errorCodes } from './errors.js'

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

  it('every code is an error for HTTP and for a shell', () => {
    for (const { status, exit } of Object.values(errorCodes)) {
      expect(status).toBeGreaterThanOrEqual(400)
      expect(exit).toBeGreaterThan(0)
    }
  })
})
