import { answerOfPrompt, valuesOfAnswer, type KindPrompt } from '@askback/protocol'
import * as v from 'valibot'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { defineInteraction, describeKind, type InteractionKind, type StandardSchema } from '../index.js'
import { ada, testDesk } from './test-desk.test.helper.js'

const timeSlot = defineInteraction({
  kind: 'time_slot',
  presentation: 'questionnaire',
  request: z.object({ purpose: z.string(), slots: z.array(z.string()) }),
  answer: z.object({ slot: z.string(), note: z.string().optional() }),
})
const asked = { purpose: 'Release', slots: ['Monday', 'Tuesday'] }

async function promptOf(kind: InteractionKind, request: unknown = asked) {
  const { desk, open, errors, restart } = await testDesk({ kinds: [kind] })
  const { interactionId } = await open(kind.kind, request)
  const { prompt } = await desk.prompt('s', interactionId)
  const answer = (given: unknown) => desk.as(ada).respond({ interactionId, answer: given })
  return { prompt: prompt as KindPrompt, errors, answer, desk, interactionId, restart }
}

/** A kind that takes any request, with this schema for its answer. */
function answering(answer: StandardSchema, more: Partial<InteractionKind> = {}): InteractionKind {
  return { kind: 'own', presentation: 'tool', request: z.unknown(), answer, ...more }
}

describe('the prompt of a custom kind', () => {
  it('asks for the fields of the answer', async () => {
    const { prompt, errors } = await promptOf(timeSlot)
    expect(prompt).toEqual({
      title: 'Time slot',
      fields: [
        { name: 'slot', type: 'text', required: true },
        { name: 'note', type: 'text', required: false },
      ],
      initialValues: {},
      nullable: [],
      json: [],
      single: false,
    })
    expect(errors).toEqual([])
  })

  it.each<[string, StandardSchema]>([
    ['zod', z.object({ stars: z.int().min(1).max(5) })],
    [
      'valibot',
      toStandardJsonSchema(
        v.object({ stars: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(5)) }),
      ),
    ],
    ['arktype', type({ stars: '1 <= number.integer <= 5' })],
  ])('is made from a schema of %s', async (_, answer) => {
    const { prompt } = await promptOf(answering(answer))
    expect(prompt.fields).toEqual([
      { name: 'stars', type: 'number', required: true, min: 1, max: 5, step: 1 },
    ])
  })

  it('is made from a JSON Schema that the kind gives, if its schema has none', async () => {
    const bare: StandardSchema = {
      '~standard': { version: 1, vendor: 'own', validate: (value) => ({ value }) },
    }
    const given = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }
    const { prompt } = await promptOf(answering(bare, { jsonSchema: { answer: given } }))
    expect(prompt.fields).toEqual([{ name: 'ok', type: 'boolean', required: true }])
  })

  it.each<[string, StandardSchema, unknown]>([
    ['a text', z.string(), 'yes'],
    ['a number', z.number(), 4],
    ['a choice', z.enum(['a', 'b']), 'b'],
  ])('asks for %s in a single field', async (_, schema, answer) => {
    const { prompt, answer: send } = await promptOf(answering(schema))
    expect(prompt).toMatchObject({ single: true, fields: [{ name: 'answer', label: 'Your answer' }] })
    expect(answerOfPrompt(prompt, { answer: answer as string })).toEqual({ answer })
    expect(await send(answer)).toMatchObject({ interaction: { answer } })
  })

  it('asks for JSON where no control asks for a value, and says if it is none', async () => {
    const schema = z.object({ name: z.string(), servers: z.array(z.object({ port: z.int() })) })
    const { prompt, answer: send } = await promptOf(answering(schema))
    expect(prompt.json).toEqual(['servers'])
    const values = { name: 'eu', servers: '[{ "port": 80 }]' }
    const answer = { name: 'eu', servers: [{ port: 80 }] }
    expect(answerOfPrompt(prompt, values)).toEqual({ answer })
    expect(answerOfPrompt(prompt, { ...values, servers: '[{' })).toEqual({
      errors: { servers: expect.stringContaining('This is not JSON') as string },
    })
    expect(valuesOfAnswer(prompt, answer)).toEqual({
      name: 'eu',
      servers: JSON.stringify(answer.servers, null, 2),
    })
    expect(await send(answer)).toMatchObject({ interaction: { answer } })
  })

  const bare: StandardSchema = {
    '~standard': { version: 1, vendor: 'own', validate: (value) => ({ value }) },
  }
  const throwing: StandardSchema = {
    '~standard': {
      ...bare['~standard'],
      jsonSchema: {
        input: () => {
          throw new Error('Dates cannot be described')
        },
      },
    },
  }
  const many = Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`f${index}`, z.string()]))
  it.each<[string, StandardSchema, string]>([
    ['has no JSON Schema', bare, 'cannot say its JSON Schema'],
    ['throws when it is described', throwing, 'Dates cannot be described'],
    ['is huge', z.object({ text: z.string().describe('x'.repeat(300_000)) }), 'longer than'],
  ])('asks for the whole answer as JSON if the schema %s, and says why', async (_, schema, why) => {
    const kind = answering(schema)
    const { prompt } = await promptOf(kind)
    expect(prompt).toMatchObject({ single: true, json: ['answer'] })
    expect(describeKind(kind).problems).toEqual([expect.stringMatching(/^The answer of the kind own /u)])
    expect(describeKind(kind).problems[0]).toContain(why)
  })

  it.each<[string, StandardSchema]>([
    ['no properties', z.object({})],
    ['more fields than a form', z.object(many)],
    ['a property of the prototype', z.object({ toString: z.string() })],
    ['any value', z.unknown()],
  ])('asks for the whole answer as JSON if it has %s', async (_, schema) => {
    const { prompt } = await promptOf(answering(schema))
    expect(prompt).toMatchObject({ single: true, json: ['answer'] })
    expect(answerOfPrompt(prompt, { answer: '{}' })).toEqual({ answer: {} })
  })

  it('of a kind that was removed is a reason, and after adding it again it can be answered', async () => {
    const { interactionId, restart } = await promptOf(timeSlot)
    const without = restart({ kinds: [] })
    expect(await without.prompt('s', interactionId)).toEqual({
      prompt: null,
      reason: expect.stringContaining('does not have the kind “time_slot” any more') as string,
    })
    const again = restart({ kinds: [timeSlot] })
    expect(await again.prompt('s', interactionId)).toMatchObject({ prompt: { title: 'Time slot' } })
    await again.as(ada).respond({ interactionId, answer: { slot: 'Monday' } })
    expect(await again.interaction('s', interactionId)).toMatchObject({ settlement: 'answered' })
  })

  it('leaves patterns to the schema, which refuses an answer that the form takes', async () => {
    const code = answering(z.object({ code: z.string().regex(/^[a-z]+$/u) }))
    const { prompt, answer, desk, interactionId } = await promptOf(code)
    expect(prompt.fields).toEqual([{ name: 'code', type: 'text', required: true }])
    await expect(answer({ code: '12' })).rejects.toMatchObject({ code: 'invalid_answer' })
    expect(await desk.interaction('s', interactionId)).toMatchObject({ status: 'pending' })
  })

  it.each(['time slot', 'slot!', '../slot', 'Slot', '1slot', '', '__proto__'])(
    'is not made for a kind named %j, which is refused',
    (kind) => {
      expect(() => defineInteraction({ ...timeSlot, kind })).toThrow('must be lower case letters')
    },
  )

  it('of a built-in kind is refused', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('question', {
      questions: [{ header: 'Q', question: '?', options: [{ label: 'a' }], multiSelect: false }],
    })
    await expect(desk.prompt('s', interactionId)).rejects.toMatchObject({ code: 'invalid_request' })
  })
})

describe('the card of a kind', () => {
  const withCard = (card: InteractionKind<{ purpose: string; slots: string[] }>['card']) =>
    defineInteraction({ ...timeSlot, ...(card && { card }) })

  it('gives a title, a text in place of the request, and what to choose from', async () => {
    const { prompt } = await promptOf(
      withCard(({ purpose, slots }) => ({
        title: 'When does it suit you?',
        text: purpose,
        fields: { slot: { label: 'Slot', options: slots, initial: 'Monday' } },
      })),
    )
    expect(prompt).toMatchObject({
      title: 'When does it suit you?',
      text: 'Release',
      fields: [
        {
          name: 'slot',
          label: 'Slot',
          type: 'radio',
          required: true,
          options: [{ value: 'Monday' }, { value: 'Tuesday' }],
        },
        { name: 'note' },
      ],
      initialValues: { slot: 'Monday' },
    })
  })

  it('offers several choices for a list', async () => {
    const { prompt } = await promptOf(
      answering(z.object({ days: z.array(z.string()) }), {
        card: () => ({ fields: { days: { options: ['a', 'b'] } } }),
      }),
    )
    expect(prompt).toMatchObject({
      json: [],
      fields: [{ type: 'multiselect', options: [{ value: 'a' }, { value: 'b' }] }],
    })
    expect(answerOfPrompt(prompt, { days: ['a'] })).toEqual({ answer: { days: ['a'] } })
  })

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('no card today')
      },
    ],
    ['returns nothing', () => undefined],
    ['returns a text', () => 'a card'],
    ['is asynchronous', () => Promise.resolve({})],
    ['has an unknown key', () => ({ colour: 'red' })],
    ['names a field that the answer does not have', () => ({ fields: { slots: { options: ['a'] } } })],
    ['has an option twice', () => ({ fields: { slot: { options: ['a', 'a'] } } })],
  ])('that %s is reported and not used, and the request can be answered', async (_, card) => {
    const { prompt, errors, answer } = await promptOf(withCard(card as never))
    expect(prompt).toMatchObject({
      title: 'Time slot',
      fields: [{ name: 'slot', type: 'text' }, { name: 'note' }],
    })
    expect(errors).toEqual([
      expect.objectContaining({
        message: expect.stringContaining('The card of the kind time_slot') as string,
      }),
    ])
    await answer({ slot: 'Monday' })
  })
})
