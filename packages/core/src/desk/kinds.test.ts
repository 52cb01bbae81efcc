import { describe, expect, it } from 'vitest'
import { defineInteraction, type InteractionKind, type StandardSchema } from '../index.js'
import { ada, isOver, testDesk, waiting } from './test-desk.test.helper.js'

const refused = { code: 'invalid_request' }

function schema<Output>(check: (value: unknown) => Output | string): StandardSchema<Output> {
  const validate = (value: unknown) => {
    const checked = check(value)
    return typeof checked === 'string'
      ? { issues: [{ message: checked, path: ['stars'] }] }
      : { value: checked }
  }
  return { '~standard': { version: 1, vendor: 'by-hand', validate } }
}
describe('an unusable schema', () => {
  const any = schema((value) => value as object)
  const late = (end: () => Promise<never>): StandardSchema => ({
    '~standard': { version: 1, vendor: 'late', validate: end },
  })
  const asynchronous: [string, StandardSchema][] = [
    ['a promise', late(() => new Promise<never>(() => undefined))],
    ['a promise that fails', late(() => Promise.reject(new Error('late')))],
  ]

  it.each(asynchronous)('%s for the request is refused when the kind is asked', async (_, request) => {
    const { open } = await testDesk({ kinds: [{ kind: 'late', presentation: 'tool', request, answer: any }] })
    await expect(open('late', {})).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('asynchronous') as string,
    })
  })

  it.each(asynchronous)(
    '%s for the answer is refused, and the interaction stays pending',
    async (_, answer) => {
      const { desk, open } = await testDesk({
        kinds: [{ kind: 'late', presentation: 'tool', request: any, answer }],
      })
      const { interactionId } = await open('late', {})
      const { settlement } = await waiting(desk, interactionId)
      await expect(desk.as(ada).respond({ interactionId, answer: {} })).rejects.toMatchObject({
        code: 'invalid_request',
      })
      expect(await isOver(settlement)).toBe(false)
    },
  )

  it.each([
    ['a date', new Date(0)],
    ['a bigint', 1n],
    ['nothing', undefined],
  ])('that turns an answer into %s is refused, because that cannot be stored', async (_, made) => {
    const answer = schema(() => made as unknown as object)
    const { desk, open } = await testDesk({
      kinds: [{ kind: 'odd', presentation: 'tool', request: any, answer }],
    })
    const { interactionId } = await open('odd', {})
    await expect(desk.as(ada).respond({ interactionId, answer: {} })).rejects.toMatchObject({
      code: 'invalid_request',
    })
    expect(await desk.interaction('s', interactionId)).toMatchObject({ status: 'pending' })
  })
})

describe('the definition of a kind', () => {
  const any = {
    '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
  } as const
  const kind: InteractionKind = { kind: 'mine', presentation: 'tool', request: any, answer: any }

  it.each(['Mine', 'my kind', '', '1st', '__proto__'])('cannot have the name %j', async (name) => {
    expect(() => defineInteraction({ ...kind, kind: name })).toThrow(expect.objectContaining(refused))
    await expect(testDesk({ kinds: [{ ...kind, kind: name }] })).rejects.toMatchObject(refused)
  })

  it.each(['question', 'approval'])('cannot replace the built-in kind %s', async (name) => {
    await expect(testDesk({ kinds: [{ ...kind, kind: name }] })).rejects.toMatchObject(refused)
  })

  it('is listed by its desk, after the built-in ones', async () => {
    const { desk } = await testDesk({ kinds: [kind] })
    const names = desk.kinds.map((each) => each.kind)
    expect(names).toEqual(['question', 'approval', 'plan_review', 'form', 'mine'])
  })

  it('cannot have the name of another one', async () => {
    await expect(testDesk({ kinds: [kind, { ...kind }] })).rejects.toMatchObject(refused)
  })
})
