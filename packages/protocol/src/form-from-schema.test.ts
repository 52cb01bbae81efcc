import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { formFromSchema, valuesForSchema } from './form-from-schema.js'
import { formRequest } from './form.js'
import type { StandardSchema } from './standard-schema.js'

const options = [{ value: 'dev' }, { value: 'prod' }]

describe('the same form comes from', () => {
  const fields = [
    { name: 'note', type: 'text', required: false },
    { name: 'port', type: 'number', min: 1, step: 1, required: true },
    { name: 'stage', type: 'select', options, required: true },
    { name: 'tags', type: 'multiselect', options, required: true },
    { name: 'verbose', type: 'boolean', required: true },
  ]
  const stages = ['dev', 'prod'] as const
  const schemas: Record<string, StandardSchema> = {
    zod: z.object({
      note: z.string().optional(),
      port: z.number().int().min(1),
      stage: z.enum(stages),
      tags: z.array(z.enum(stages)),
      verbose: z.boolean(),
    }),
    valibot: toStandardJsonSchema(
      v.object({
        note: v.optional(v.string()),
        port: v.pipe(v.number(), v.integer(), v.minValue(1)),
        stage: v.picklist(stages),
        tags: v.array(v.picklist(stages)),
        verbose: v.boolean(),
      }),
    ),
    arktype: type({
      'note?': 'string',
      port: 'number.integer >= 1',
      stage: "'dev' | 'prod'",
      tags: "('dev' | 'prod')[]",
      verbose: 'boolean',
    }),
  }

  it.each(Object.entries(schemas))('%s', (_name, schema) => {
    const form = formFromSchema(schema)
    expect(form.fields.toSorted((one, other) => (one.name < other.name ? -1 : 1))).toEqual(fields)
    expect(formRequest.safeParse({ message: '', schema: { fields: form.fields } })).toMatchObject({
      success: true,
    })
  })
})

describe('a field', () => {
  const fieldOf = (schema: z.ZodType) => formFromSchema(z.object({ it: schema })).fields[0]

  it.each<[string, z.ZodType, object]>([
    ['a text with limits', z.string().min(2).max(9), { type: 'text', minLength: 2, maxLength: 9 }],
    ['a long text', z.string().max(2000), { type: 'textarea', maxLength: 2000 }],
    ['a text with a pattern', z.string().regex(/^[a-z]+$/u), { type: 'text', pattern: '^[a-z]+$' }],
    ['a whole number', z.int(), { type: 'number', step: 1 }],
    ['a whole number above a bound', z.int().gt(1).lt(9), { type: 'number', min: 2, max: 8, step: 1 }],
    ['a number in steps', z.number().multipleOf(0.5), { type: 'number', step: 0.5 }],
    ['a date', z.iso.date(), { type: 'date' }],
    ['a time', z.string().meta({ format: 'time' }), { type: 'time' }],
    ['a date and time', z.iso.datetime(), { type: 'datetime' }],
    ['numbers to choose from', z.literal([1, 2]), { type: 'select', options: [{ value: 1 }, { value: 2 }] }],
    ['a single value', z.literal('yes'), { type: 'select', options: [{ value: 'yes' }] }],
    [
      'named choices',
      z.union([z.literal('a').meta({ title: 'The first' }), z.literal('b')]),
      { type: 'select', options: [{ value: 'a', label: 'The first' }, { value: 'b' }] },
    ],
    [
      'a few of several',
      z
        .array(z.enum(['dev', 'prod']))
        .min(1)
        .max(9),
      { type: 'multiselect', options, min: 1, max: 2 },
    ],
  ])('is %s', (_what, schema, field) => {
    expect(fieldOf(schema)).toEqual({ name: 'it', required: true, ...field })
  })

  it('has the words of the schema', () => {
    const schema = z.number().meta({ title: 'Port', description: 'Where it listens' })
    expect(fieldOf(schema)).toMatchObject({ label: 'Port', description: 'Where it listens' })
    expect(fieldOf(schema.nullable())).toMatchObject({ label: 'Port', description: 'Where it listens' })
  })

  it.each([
    z.email(),
    z.uuid(),
    z.string().regex(/a/u),
    z.string().regex(/^(?=a).*$/u),
    z.string().regex(/^a{1,500}$/u),
  ])('leaves a pattern to the schema that a form would read differently or refuse (%#)', (schema) => {
    expect(fieldOf(schema)).toEqual({ name: 'it', type: 'text', required: true })
  })

  it('shows a password as what it is, so that the desk refuses it', () => {
    const schema = z.string().meta({ format: 'password' })
    const { fields } = formFromSchema(z.object({ it: schema }))
    const parsed = formRequest.safeParse({ message: '', schema: { fields } })
    expect(parsed.error?.message).toContain('asks for a secret')
  })

  it('of a shared definition is found', () => {
    const schema: StandardSchema = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) => ({ value }),
        jsonSchema: {
          input: () => ({
            type: 'object',
            properties: { it: { $ref: '#/$defs/Po~1rt' } },
            $defs: { 'Po/rt': { type: 'integer', minimum: 5 } },
          }),
        },
      },
    }
    expect(formFromSchema(schema).fields).toEqual([
      { name: 'it', type: 'number', min: 5, step: 1, required: false },
    ])
  })
})

describe('values that are left out', () => {
  const schema = z.object({
    nothing: z.string().nullable(),
    choice: z.enum(['a', 'b']).nullable(),
    email: z.email().optional(),
    host: z.string().default('localhost'),
  })

  it('are null, missing, or the default, as the schema says', () => {
    const form = formFromSchema(schema)
    expect(form).toMatchObject({ nullable: ['nothing', 'choice'], initialValues: { host: 'localhost' } })
    expect(form.fields.map(({ required }) => required)).toEqual([false, false, false, false])
    const values = valuesForSchema(form, { email: '' })
    expect(values).toEqual({ nothing: null, choice: null })
    expect(schema.parse(values)).toEqual({ nothing: null, choice: null, host: 'localhost' })
    expect(valuesForSchema(form, { nothing: 'x', choice: 'a' })).toEqual({ nothing: 'x', choice: 'a' })
  })
})

it.each([
  ['2026-02-28T09:30', '2026-02-28T09:30:00Z'],
  ['2026-02-28T09:30:15', '2026-02-28T09:30:15Z'],
  ['2026-02-28T09:30:15+02:00', '2026-02-28T09:30:15+02:00'],
])('the moment %s, as a control sends it, is %s for the schema', (sent, taken) => {
  const form = formFromSchema(z.object({ at: z.iso.datetime({ offset: true }) }))
  expect(valuesForSchema(form, { at: sent })).toEqual({ at: taken })
})

describe('a schema is refused in one sentence', () => {
  const refusal = (schema: unknown) => {
    try {
      return formFromSchema(schema as StandardSchema)
    } catch (error) {
      return (error as Error).message
    }
  }
  const start = 'This schema cannot be asked as a form: '

  it.each<[unknown, string]>([
    [z.object({ a: z.object({}) }), `${start}its property "a" is an object of its own.`],
    [z.object({ a: z.array(z.string()) }), `${start}its property "a" is a list of free values.`],
    [
      z.object({ a: z.union([z.string(), z.int().min(3)]) }),
      `${start}its property "a" is a choice between values of several forms.`,
    ],
    [z.object({ a: z.unknown() }), `${start}its property "a" is of a type that a form does not have.`],
    [
      z.object({ a: z.date() }),
      `${start}it cannot say its JSON Schema: Date cannot be represented in JSON Schema.`,
    ],
    [z.object({}), `${start}it must be an object with properties.`],
    [z.string(), `${start}it must be an object with properties.`],
    [
      v.object({ a: v.string() }),
      `${start}it cannot say its JSON Schema. Schemas of zod (from 4.2) and arktype (from 2.1.28) can; wrap one of valibot in toStandardJsonSchema() of @valibot/to-json-schema.`,
    ],
    [
      { port: 'number' },
      'A form takes a schema of zod, valibot, arktype or another library of Standard Schema.',
    ],
    [undefined, 'A form takes a schema of zod, valibot, arktype or another library of Standard Schema.'],
  ])('%#', (schema, message) => {
    expect(refusal(schema)).toBe(message)
  })
})
