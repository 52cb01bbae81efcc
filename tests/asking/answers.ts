import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import type { OtherText, SelectedChoices } from '@askback/client'
import { answer, eventually, failureOf, onlyPending, picks, writes, type AskingSubject } from './subject.js'

/** An answer of each kind reaches the program that asked, with its type. */
export function answersConform(subject: () => AskingSubject): void {
  const session = () => subject().askback.session('answers')

  describe('a question', () => {
    it('resolves with the option that a person chose', async () => {
      const asked = session().choose('Which database?', ['PostgreSQL', 'SQLite'])
      expectTypeOf(asked).resolves.toEqualTypeOf<'PostgreSQL' | 'SQLite'>()
      expect((await onlyPending(subject())).request).toEqual({
        questions: [
          {
            question: 'Which database?',
            options: [{ label: 'PostgreSQL' }, { label: 'SQLite' }],
            multiSelect: false,
          },
        ],
      })
      await answer(subject(), picks('SQLite'))
      expect(await asked).toBe('SQLite')
    })

    it('takes options with a description, and a header', async () => {
      const choices = [{ label: 'S', description: 'One machine' }, 'L'] as const
      const asked = session().choose('Which size?', choices, { header: 'Size' })
      expectTypeOf(asked).resolves.toEqualTypeOf<'S' | 'L'>()
      expect((await onlyPending(subject())).request).toMatchObject({
        questions: [
          { header: 'Size', options: [{ label: 'S', description: 'One machine' }, { label: 'L' }] },
        ],
      })
      await answer(subject(), picks('L'))
      expect(await asked).toBe('L')
    })

    it('has no answer if the person wrote a text of their own', async () => {
      const asked = session().choose('Which?', ['A', 'B'])
      await answer(subject(), writes('both'))
      expect(await failureOf(asked)).toMatchObject({
        name: 'NotAnswered',
        reason: 'other_text',
        outcome: { text: 'both' },
        interaction: { settlement: 'answered' },
      })
    })

    it('resolves with that text if it is allowed', async () => {
      const asked = session().choose('Which?', ['A', 'B'], { allowOther: true })
      expectTypeOf(asked).resolves.toEqualTypeOf<'A' | 'B' | OtherText>()
      await answer(subject(), writes('both'))
      expect(await asked).toEqual({ other: 'both' })
    })

    it('resolves with several options, also with commas in their labels', async () => {
      const asked = session().chooseMany('Which?', ['a, b', 'c', 'd'])
      expectTypeOf(asked).resolves.toEqualTypeOf<('a, b' | 'c' | 'd')[]>()
      await answer(subject(), picks('a, b', 'd'))
      expect(await asked).toEqual(['a, b', 'd'])
    })

    it('resolves with several options and a text, if that is allowed', async () => {
      const choices = ['a', 'b'] as const
      const asked = session().chooseMany('Which?', choices, { allowOther: true })
      expectTypeOf(asked).resolves.toEqualTypeOf<SelectedChoices<'a' | 'b'>>()
      await answer(subject(), { answers: [{ selected: ['a'], other: 'and more' }] })
      expect(await asked).toEqual({ selected: ['a'], other: 'and more' })
      const strict = session().chooseMany('Which?', choices)
      await answer(subject(), { answers: [{ selected: ['a'], other: 'and more' }] })
      expect(await strict.outcome()).toMatchObject({ ok: false, reason: 'other_text', text: 'and more' })
    })

    it('resolves with a text', async () => {
      const asked = session().askText('What is it called?')
      expectTypeOf(asked).resolves.toEqualTypeOf<string>()
      await answer(subject(), writes('main'))
      expect(await asked).toBe('main')
    })

    it('resolves with the replies to several questions', async () => {
      const asked = session().ask([
        { question: 'Which database?', choices: ['PostgreSQL', { label: 'SQLite' }] },
        { question: 'Which checks?', choices: ['lint', 'tests'], multiple: true },
        { question: 'Why?' },
      ])
      await answer(subject(), {
        answers: [
          { selected: ['SQLite'], note: 'for now' },
          { selected: ['lint', 'tests'] },
          { selected: [], other: 'It is small.' },
        ],
      })
      const [database, checks, why] = await asked
      expectTypeOf(database.selected).toEqualTypeOf<('PostgreSQL' | 'SQLite')[]>()
      expectTypeOf(checks.selected).toEqualTypeOf<('lint' | 'tests')[]>()
      expectTypeOf(why.selected).toEqualTypeOf<never[]>()
      expect([database, checks, why]).toEqual([
        { selected: ['SQLite'], note: 'for now' },
        { selected: ['lint', 'tests'] },
        { selected: [], other: 'It is small.' },
      ])
    })

    it('is refused without an option, before anybody is asked', async () => {
      expect(await failureOf(session().choose('Which?', []))).toMatchObject({ code: 'invalid_request' })
      expect(await subject().backend.pending()).toEqual([])
    })
  })

  describe('an approval', () => {
    it('resolves with the input that was shown', async () => {
      const input = { version: '1.4.0' }
      const asked = session().approve('deploy', input, { title: 'Deploy 1.4.0', reason: 'It is Monday.' })
      expectTypeOf(asked).resolves.toEqualTypeOf<{ version: string }>()
      // What a person approved is what was shown, and not what became of the object.
      input.version = '6.6.6'
      expect(await onlyPending(subject())).toMatchObject({
        toolName: 'deploy',
        request: { input: { version: '1.4.0' }, title: 'Deploy 1.4.0', reason: 'It is Monday.' },
      })
      await answer(subject(), { decision: 'approve' })
      expect(await asked).toEqual({ version: '1.4.0' })
    })

    it('resolves with an edited input that the schema accepts', async () => {
      const schema = z.object({ version: z.string() })
      const asked = session().approve('deploy', { version: '1.4.0' }, { schema })
      await answer(subject(), { decision: 'approve', updatedInput: { version: '1.4.1' } })
      expect(await asked).toEqual({ version: '1.4.1' })
      const other = session().approve('deploy', { version: '1.4.0' }, { schema })
      await answer(subject(), { decision: 'approve', updatedInput: { version: 7 } })
      expect(await failureOf(other)).toMatchObject({ code: 'invalid_answer' })
    })

    it('has no answer if the input was edited and no schema checks it', async () => {
      const asked = session().approve('deploy', '1.4.0')
      await answer(subject(), { decision: 'approve', updatedInput: 'rm -rf /' })
      expect(await asked.outcome()).toMatchObject({ ok: false, reason: 'edited_input' })
    })

    it('says who denied it, and why', async () => {
      const asked = session().approve('deploy', '1.4.0')
      await answer(subject(), { decision: 'deny', message: 'Not on a Friday.' })
      expect(await failureOf(asked)).toMatchObject({
        reason: 'denied',
        message: 'Ada denied it: Not on a Friday.',
        outcome: { by: { name: 'Ada' } },
      })
    })
  })

  describe('a plan review', () => {
    it('resolves with the plan and how to go on', async () => {
      const asked = session().reviewPlan('1. Add it', { planFilePath: '/plan.md' })
      await answer(subject(), { decision: 'edit', updatedPlan: '1. Add it well' })
      expect(await asked).toEqual({ plan: '1. Add it well', decision: 'edit' })
    })

    it('is denied with what to change', async () => {
      const asked = session().reviewPlan('1. Add it')
      await answer(subject(), { decision: 'adjust', feedback: 'Test it first.' })
      expect(await failureOf(asked)).toMatchObject({
        reason: 'denied',
        message: 'Ada denied it: Test it first.',
      })
    })
  })

  describe('a form', () => {
    it('resolves with the output of the schema', async () => {
      const schema = z.object({
        port: z.number().int().min(1),
        host: z.string().default('localhost'),
        tags: z.array(z.enum(['a', 'b'])).transform((tags) => tags.length),
        note: z.string().nullable(),
      })
      const asked = session().form(schema, { message: 'Where does it listen?' })
      expectTypeOf(asked).resolves.toEqualTypeOf<{
        port: number
        host: string
        tags: number
        note: string | null
      }>()
      const { request } = await onlyPending(subject())
      expect(request).toMatchObject({
        message: 'Where does it listen?',
        initialValues: { host: 'localhost' },
        schema: { fields: [{ name: 'port', type: 'number', min: 1, step: 1, required: true }, {}, {}, {}] },
      })
      await answer(subject(), { values: { port: 80, tags: ['a', 'b'] } })
      expect(await asked).toEqual({ port: 80, host: 'localhost', tags: 2, note: null })
    })

    it('follows the form when the desk asks again', async () => {
      const asked = session().form(z.object({ port: z.number().max(10) }))
      const refused = await failureOf(answer(subject(), { values: { port: 11 } }))
      expect(refused).toMatchObject({ code: 'invalid_answer' })
      await answer(subject(), { values: { port: 10 } })
      expect(await asked).toEqual({ port: 10 })
    })

    it('asks again for values that only the schema refuses, with the reason', async () => {
      const even = z.number().refine((port) => port % 2 === 0, 'must be even')
      const asked = session().form(z.object({ port: even }), { message: 'Which port?', timeout: '1h' })
      const { requestedAt } = await onlyPending(subject())
      await eventually(() => expect(Date.now()).toBeGreaterThan(requestedAt))
      const first = await answer(subject(), { values: { port: 81 } })
      const again = await onlyPending(subject())
      expect(again.request).toMatchObject({
        message: 'Which port?\n\nThis does not fit yet:\n- port: must be even',
        initialValues: { port: 81 },
      })
      // The time that was left when the first one was answered.
      expect(again.expiresAt! - again.requestedAt).toBe(first.expiresAt! - first.settledAt!)
      await answer(subject(), { values: { port: 82 } })
      expect(await asked).toEqual({ port: 82 })
    })

    it('is refused in one sentence if no form can ask for the schema, before anybody is asked', async () => {
      const nested = z.object({ server: z.object({ port: z.number() }) })
      expect(await failureOf(session().form(nested))).toMatchObject({
        code: 'invalid_request',
        message: 'This schema cannot be asked as a form: its property "server" is an object of its own.',
      })
      expect(await subject().backend.pending()).toEqual([])
    })
  })

  describe('a kind of the embedder’s own', () => {
    it('resolves with its typed answer', async () => {
      const asked = session().request(subject().rating, { subject: 'The layout' })
      expectTypeOf(asked).resolves.toEqualTypeOf<{ stars: number }>()
      expect(await onlyPending(subject())).toMatchObject({
        kind: 'rating',
        request: { subject: 'The layout' },
      })
      await answer(subject(), { stars: 4 })
      expect(await asked).toEqual({ stars: 4 })
    })

    it('is refused if the desk does not know it', async () => {
      const unknown = { ...subject().rating, kind: 'unheard_of' }
      expect(await failureOf(session().request(unknown, { subject: '' }))).toMatchObject({
        code: 'unknown_kind',
      })
    })
  })
}
