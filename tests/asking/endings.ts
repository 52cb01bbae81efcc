import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { NotAnswered, type AskOutcome } from '@askback/client'
import { answer, eventually, failureOf, onlyPending, picks, type AskingSubject } from './subject.js'

/** A request that ends in any other way never looks like an answer. */
export function endingsConform(subject: () => AskingSubject): void {
  const session = () => subject().askback.session('endings')
  const choices = ['A', 'B'] as const

  describe('a request without an answer', () => {
    it('times out', async () => {
      const error = await failureOf(session().choose('Which?', choices, { timeout: '20ms' }))
      expect(error).toBeInstanceOf(NotAnswered)
      expect(error).toMatchObject({ reason: 'timed_out', message: 'Nobody answered in time.' })
    })

    it('stays open behind its deadline if that is wanted', async () => {
      const asked = session().choose('Which?', choices, { timeout: 20, onTimeout: 'keep' })
      await eventually(async () => expect(await onlyPending(subject())).toMatchObject({ overdue: true }))
      await answer(subject(), picks('A'))
      expect(await asked).toBe('A')
    })

    it('ends with the declared answer, which is not that of a person', async () => {
      const options = { timeout: '20ms', defaultAnswer: 'B' } as const
      const outcome = await session().choose('Which?', choices, options).outcome()
      expect(outcome).toMatchObject({ ok: true, value: 'B', via: 'policy' })
      expect(outcome).not.toHaveProperty('by')
      const text = await session().askText('Why?', { timeout: 20, defaultAnswer: 'because' })
      expect(text).toBe('because')
      const schema = z.object({ port: z.number() })
      const form = session().form(schema, { timeout: 20, defaultAnswer: { port: 80 } })
      expect(await form).toEqual({ port: 80 })
      const many = session().chooseMany('Which?', choices, { timeout: 20, defaultAnswer: ['A', 'B'] })
      expect(await many).toEqual(['A', 'B'])
    })

    it('can wait for ever', async () => {
      const asked = session().choose('Which?', choices, { timeout: 'never' })
      expect(await onlyPending(subject())).not.toHaveProperty('expiresAt')
      await answer(subject(), picks('A'))
      expect(await asked).toBe('A')
    })

    it('is cancelled by its own signal', async () => {
      const leaving = new AbortController()
      const asked = session().choose('Which?', choices, { cancelOn: leaving.signal })
      await onlyPending(subject())
      leaving.abort()
      expect(await asked.outcome()).toMatchObject({ ok: false, reason: 'cancelled' })
      expect(await subject().backend.pending()).toEqual([])
    })

    it('is cancelled also after its form was asked again', async () => {
      const leaving = new AbortController()
      const asked = session().form(z.object({ port: z.number().max(10) }), { cancelOn: leaving.signal })
      await failureOf(answer(subject(), { values: { port: 11 } }))
      leaving.abort()
      expect(await asked.outcome()).toMatchObject({ ok: false, reason: 'cancelled' })
    })

    it('is not opened if the signal was aborted before', async () => {
      const reason = new Error('too late')
      for (const name of ['signal', 'cancelOn'] as const) {
        const asked = session().choose('Which?', choices, { [name]: AbortSignal.abort(reason) })
        expect(await failureOf(asked)).toBe(reason)
      }
      expect(await subject().backend.pending()).toEqual([])
    })

    it('stays pending when only the wait ends', async () => {
      const leaving = new AbortController()
      const asked = session().choose('Which?', choices, { signal: leaving.signal })
      await onlyPending(subject())
      const reason = new Error('shutting down')
      leaving.abort(reason)
      expect(await failureOf(asked)).toBe(reason)
      expect(await onlyPending(subject())).toMatchObject({ status: 'pending' })
    })

    it('stays pending when the connection is closed', async () => {
      const asked = session().choose('Which?', choices)
      await onlyPending(subject())
      subject().askback.close()
      expect(await failureOf(asked)).toMatchObject({ code: 'unavailable' })
      expect(await onlyPending(subject())).toMatchObject({ status: 'pending' })
    })

    it('ends as an error if its session is deleted', async () => {
      const asked = session().choose('Which?', choices)
      const { sessionId } = await onlyPending(subject())
      const ended = failureOf(asked)
      await subject().backend.deleteSession(sessionId)
      // It was cancelled first; whether that is still read before the log is erased is a matter of time.
      const error = (await ended) as { reason?: string; code?: string }
      expect(error.reason ?? error.code).toMatch(/^(cancelled|not_found)$/u)
    })
  })

  describe('an outcome', () => {
    it('has the value, who gave it, and the request', async () => {
      const asked = session().choose('Which?', choices)
      expectTypeOf(asked.outcome()).resolves.toEqualTypeOf<AskOutcome<'A' | 'B'>>()
      await answer(subject(), picks('A'))
      const outcome = await asked.outcome()
      expect(outcome).toMatchObject({
        ok: true,
        value: 'A',
        by: { name: 'Ada' },
        interaction: { kind: 'question' },
      })
      // @ts-expect-error -- the value cannot be read before `ok` was checked
      expect(outcome.value).toBe('A')
    })

    it('resolves, too, if there is no answer, and nothing else rejects', async () => {
      const asked = session().choose('Which?', choices, { timeout: 20 })
      expect(await asked.outcome()).toMatchObject({ ok: false, reason: 'timed_out' })
      expect(await failureOf(asked)).toBeInstanceOf(NotAnswered)
    })
  })

  describe('what a request says while it is open', () => {
    it('is passed to onOpen when it is stored', async () => {
      const opened: string[] = []
      const asked = session().choose('Which?', choices, {
        onOpen: ({ interactionId }) => opened.push(interactionId),
      })
      const { interactionId } = await answer(subject(), picks('A'))
      await asked
      expect(opened).toEqual([interactionId])
    })
  })

  describe('a misspelled option', () => {
    it('is refused by the compiler and at run time, before anybody is asked', async () => {
      const here = session()
      const schema = z.object({ port: z.number() })
      const { rating } = subject()
      const calls = [
        // @ts-expect-error -- timeOut is no option
        here.choose('Which?', choices, { timeOut: '1h' }),
        // @ts-expect-error -- timeOut is no option
        here.chooseMany('Which?', choices, { timeOut: '1h' }),
        // @ts-expect-error -- timeOut is no option
        here.askText('Which?', { timeOut: '1h' }),
        // @ts-expect-error -- timeOut is no option
        here.ask([{ question: 'Which?' }], { timeOut: '1h' }),
        // @ts-expect-error -- timeOut is no option
        here.approve('deploy', 1, { timeOut: '1h' }),
        // @ts-expect-error -- timeOut is no option
        here.reviewPlan('1.', { timeOut: '1h' }),
        // @ts-expect-error -- timeOut is no option
        here.form(schema, { timeOut: '1h' }),
        // @ts-expect-error -- timeOut is no option
        here.request(rating, { subject: '' }, { timeOut: '1h' }),
      ]
      for (const call of calls)
        expect(await failureOf(call)).toMatchObject({
          code: 'invalid_request',
          message: expect.stringContaining('no option "timeOut". Did you mean "timeout"?') as unknown,
        })
      // @ts-expect-error -- timeOut is no option
      expect(() => here.withApproval('deploy', () => 1, { timeOut: '1h' })).toThrow('Did you mean "timeout"?')
      // @ts-expect-error -- sinal is no option
      expect(await failureOf(here.id({ sinal: null }))).toMatchObject({ code: 'invalid_request' })
      // @ts-expect-error -- form is no option
      expect(await failureOf(here.events({ from: 1 })[Symbol.asyncIterator]().next())).toMatchObject({
        code: 'invalid_request',
      })
      // @ts-expect-error -- titel is no option
      expect(() => subject().askback.session('s', { titel: 'x' })).toThrow('Did you mean "title"?')
      expect(await subject().backend.pending()).toEqual([])
    })

    it.each(['2 days', '1.5', '-1s', '', '0s', 0, -5, Number.NaN, null, {}])(
      'as is a duration %j that is none',
      async (timeout) => {
        const asked = session().choose('Which?', choices, { timeout: timeout as '2d' })
        expect(await failureOf(asked)).toMatchObject({
          code: 'invalid_request',
          message: expect.stringContaining('timeout') as unknown,
        })
      },
    )

    it('a declared answer must be one of the options', async () => {
      // @ts-expect-error -- C is no option
      const asked = session().choose('Which?', choices, { defaultAnswer: 'C' })
      expect(await failureOf(asked)).toMatchObject({ code: 'invalid_answer' })
      const schema = z.object({ port: z.number() })
      const form = session().form(schema, { defaultAnswer: { port: 'x' } })
      expect(await failureOf(form)).toMatchObject({ code: 'invalid_request' })
    })
  })
}
