import { connect, type Askback } from '@askback/client'
import { createDesk, memoryStore, type Desk } from '@askback/core'
import { autoAnswer, fill, type AutoAnswer } from '@askback/testing'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'

interface Settings {
  port: number
  stage: 'dev' | 'prod'
}

const values = { port: 8080, stage: 'dev' }

let desk: Desk
let askback: Askback
let people: AutoAnswer

beforeEach(() => {
  desk = createDesk({ store: memoryStore() })
  askback = connect({ desk })
  people = autoAnswer(desk, { form: fill(values) })
})

afterEach(async () => {
  await people.stop()
  askback.close()
  desk.close()
})

describe('a form resolves with the type of a schema of', () => {
  it('zod', async () => {
    const schema = z.object({ port: z.number().int().min(1), stage: z.enum(['dev', 'prod']) })
    const asked = askback.session('forms').form(schema)
    expectTypeOf(asked).resolves.toEqualTypeOf<Settings>()
    expect(await asked).toEqual(values)
  })

  it('zod, with another output than input', async () => {
    const schema = z.object({ port: z.number().transform(String), stage: z.string() })
    const asked = askback.session('forms').form(schema)
    expectTypeOf(asked).resolves.toEqualTypeOf<{ port: string; stage: string }>()
    expect(await asked).toEqual({ port: '8080', stage: 'dev' })
  })

  it('valibot', async () => {
    const schema = v.object({ port: v.pipe(v.number(), v.integer()), stage: v.picklist(['dev', 'prod']) })
    const asked = askback.session('forms').form(toStandardJsonSchema(schema))
    expectTypeOf(asked).resolves.toEqualTypeOf<Settings>()
    expect(await asked).toEqual(values)
  })

  it('arktype', async () => {
    const schema = type({ port: 'number.integer >= 1', stage: "'dev' | 'prod'" })
    const asked = askback.session('forms').form(schema)
    expectTypeOf(asked).resolves.toEqualTypeOf<Settings>()
    expect(await asked).toEqual(values)
  })
})

describe('a schema that is asynchronous', () => {
  const refusal = {
    code: 'invalid_request',
    message: 'The schema of the form is asynchronous; use one that validates at once.',
  }

  it('is refused before anybody is asked', async () => {
    const schema = v.objectAsync({ port: v.number(), stage: v.string() })
    const { '~standard': standard } = toStandardJsonSchema(v.object({ port: v.number(), stage: v.string() }))
    const described = { '~standard': { ...schema['~standard'], jsonSchema: standard.jsonSchema } }
    await expect(askback.session('forms').form(described)).rejects.toMatchObject(refusal)
    await people.stop()
    expect(people.answered).toEqual([])
  })

  it('is refused when it has shown it, if it shows it for complete values only', async () => {
    const isFree = async (port: number) => port > 0
    const schema = z.object({ port: z.number().refine(isFree), stage: z.string() })
    await expect(askback.session('forms').form(schema)).rejects.toMatchObject(refusal)
  })
})
