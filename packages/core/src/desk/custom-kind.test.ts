import { AskbackError, digestOf, messageBody, questionReply, sessionEvent } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { defineInteraction, type InteractionKind, type StandardSchema } from '../index.js'
import { ada, testDesk, tick, waiting } from './test-desk.test.helper.js'

// Any Standard Schema can be used. These are made with zod …
const texts = questionReply.shape.selected
const colorRequest = messageBody.pick({ text: true }).extend({ palette: texts.default(['red', 'green']) })
const colorAnswer = messageBody.pick({ text: true })

const color = defineInteraction({
  kind: 'color',
  presentation: 'questionnaire',
  request: colorRequest,
  answer: colorAnswer,
  settle({ palette }, { text }) {
    if (palette.includes(text)) return { settlement: 'answered', answer: { text } }
    throw new AskbackError('invalid_answer', `The palette has no ${text}.`)
  },
})

// … and this one is written by hand.
function schema<Output>(check: (value: unknown) => Output | string): StandardSchema<Output> {
  const validate = (value: unknown) => {
    const checked = check(value)
    return typeof checked === 'string'
      ? { issues: [{ message: checked, path: ['stars'] }] }
      : { value: checked }
  }
  return { '~standard': { version: 1, vendor: 'by-hand', validate } }
}
const rating = defineInteraction({
  kind: 'rating',
  presentation: 'tool',
  request: schema((value) => ({ about: String((value as { about: unknown }).about) })),
  answer: schema((value) => {
    const { stars } = value as { stars: unknown }
    return typeof stars === 'number' ? { stars } : 'must be a number'
  }),
})

const blue = { text: 'Which?', palette: ['blue', 'grey'] }

describe('a custom kind', () => {
  it('is only a definition, and is asked, waited for and answered like a built-in kind', async () => {
    const { desk } = await testDesk({ kinds: [color, rating] })
    const asked = [desk.session('s').request(color, blue), desk.session('s').request(rating, { about: 'us' })]
    await tick()
    const [first, second] = (await desk.pending()).interactions
    expect(first).toMatchObject({
      kind: 'color',
      presentation: 'questionnaire',
      digest: digestOf('color', blue),
    })
    expect(second).toMatchObject({ kind: 'rating', presentation: 'tool', toolName: 'rating' })
    await desk.as(ada).respond({ interactionId: first!.interactionId, answer: { text: 'blue' } })
    await desk.as(ada).respond({ interactionId: second!.interactionId, answer: { stars: 5 } })
    expect(await Promise.all(asked)).toMatchObject([
      { settlement: 'answered', answer: { text: 'blue' }, ...ada },
      { settlement: 'answered', answer: { stars: 5 }, ...ada },
    ])
  })

  it('uses the same events as every kind, so any client can read its log', async () => {
    const { desk, open, events } = await testDesk({ kinds: [color] })
    const { interactionId } = await open('color', blue)
    const { settlement } = await waiting(desk, interactionId)
    await desk.as(ada).respond({ interactionId, answer: { text: 'grey' } })
    await settlement
    for (const event of await events()) expect(sessionEvent.safeParse(event).success).toBe(true)
  })

  it('is validated by its schemas, and the error says where the value is wrong', async () => {
    const { desk, open } = await testDesk({ kinds: [color, rating] })
    await expect(open('color', { text: 5 })).rejects.toMatchObject({ code: 'invalid_request' })
    const { interactionId } = await open('rating', { about: 'us' })
    const respond = (answer: unknown) => desk.as(ada).respond({ interactionId, answer })
    await expect(respond({ stars: 'many' })).rejects.toMatchObject({
      code: 'invalid_answer',
      message: 'The answer does not fit at stars: must be a number.',
      details: { issues: [{ path: 'stars', message: 'must be a number' }] },
    })
    expect(await respond({ stars: 1 })).toMatchObject({ interaction: { settlement: 'answered' } })
  })

  it('has its values in the log as they were sent, and its rules get the output of its schema', async () => {
    const { desk, open } = await testDesk({ kinds: [color] })
    const { interactionId, request } = await open('color', { text: 'Which?', extra: true })
    expect(request).toEqual({ text: 'Which?', extra: true })
    const respond = (text: string) => desk.as(ada).respond({ interactionId, answer: { text } })
    await expect(respond('blue')).rejects.toMatchObject({
      code: 'invalid_answer',
      message: 'The palette has no blue.',
    })
    expect(await respond('green')).toMatchObject({ interaction: { answer: { text: 'green' } } })
  })

  it('[L12] may have schemas with defaults, which do not change the log', async () => {
    const fills = (what: object): StandardSchema<object> => ({
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) => ({ value: Object.assign(value as object, what) }),
      },
    })
    const filling = defineInteraction({
      kind: 'filling',
      presentation: 'tool',
      request: fills({ region: 'eu' }),
      answer: fills({ count: 1 }),
      settle: (request, answer) => ({ settlement: 'answered', answer: { ...request, ...answer } }),
    })
    const { desk, open, events } = await testDesk({ kinds: [filling] })
    const item = await open('filling', { target: 'prod' })
    expect(item.request).toEqual({ target: 'prod' })
    expect(item.digest).toBe(digestOf('filling', { target: 'prod' }))
    const answer = { by: 'hand' }
    const { interaction } = await desk.as(ada).respond({ interactionId: item.interactionId, answer })
    expect(interaction.answer).toEqual({ target: 'prod', region: 'eu', by: 'hand', count: 1 })
    expect(answer).toEqual({ by: 'hand' })
    expect(interaction.request).toEqual({ target: 'prod' })
    expect((await events()).find(({ type }) => type === 'interaction_request')).toMatchObject({
      request: { target: 'prod' },
    })
  })

  it('has deadlines, declared answers, idempotency keys and restarts like every kind', async () => {
    const { clock, open, opened, restart } = await testDesk({ kinds: [color] })
    const declared = { timeoutMs: 1000, onTimeout: { answer: { text: 'blue' } } }
    const wrong = open('color', blue, { onTimeout: { answer: { text: 'pink' } } })
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_answer' })
    const { interactionId } = await open('color', blue, { ...declared, idempotencyKey: 'k' })
    const desk = restart()
    await desk.ready
    expect(await opened('color', blue, { ...declared, idempotencyKey: 'k' })).toMatchObject({
      created: false,
    })
    const { settlement } = await waiting(desk, interactionId)
    clock.advance(1000)
    expect(await settlement).toMatchObject({
      settlement: 'answered',
      answer: { text: 'blue' },
      via: 'policy',
    })
  })

  it('may approve, deny and reprompt', async () => {
    const merge: InteractionKind<unknown, { text: string }> = {
      ...color,
      kind: 'merge',
      settle(_request, { text }) {
        if (text === '') return { errors: { text: 'Say something.' } }
        return text === 'merge'
          ? { settlement: 'approved', answer: { text } }
          : { settlement: 'denied', answer: { text }, message: text }
      },
    }
    const { desk, open } = await testDesk({ kinds: [merge] })
    const { interactionId } = await open('merge', blue)
    const { settlement } = await waiting(desk, interactionId)
    const empty = desk.as(ada).respond({ interactionId, answer: { text: '' } })
    await expect(empty).rejects.toMatchObject({
      code: 'invalid_answer',
      details: { errors: { text: 'Say something.' } },
    })
    const [again] = (await desk.pending()).interactions
    await desk.as(ada).respond({ interactionId: again!.interactionId, answer: { text: 'merge' } })
    expect(await settlement).toMatchObject({ settlement: 'approved', inDoubt: false })
    expect(await desk.wait(interactionId)).toMatchObject({ settlement: 'approved', inDoubt: true })
    const { interactionId: other } = await open('merge', blue)
    await desk.as(ada).respond({ interactionId: other, answer: { text: 'No.' } })
    expect(await desk.wait(other)).toMatchObject({ settlement: 'denied', message: 'No.' })
  })

  it('is never answered by a mode or by a text', async () => {
    const { desk, open } = await testDesk({
      kinds: [color],
      session: { permissionMode: 'bypassPermissions' },
    })
    const { interactionId } = await open('color', blue)
    expect(await desk.as(ada).message({ sessionId: 's', text: 'blue' })).toMatchObject({ routed: 'log' })
    expect(await desk.interaction('s', interactionId)).toMatchObject({ status: 'pending' })
  })

  it('whose definition was removed stays pending: it can be cancelled and times out, but cannot be answered', async () => {
    const { clock, open, restart, errors } = await testDesk({ kinds: [color] })
    const declared = { timeoutMs: 1000, onTimeout: { answer: { text: 'blue' } } }
    const one = await open('color', blue)
    const two = await open('color', blue, declared)
    const desk = restart({ kinds: [] })
    await desk.ready
    const answer = desk.as(ada).respond({ interactionId: one.interactionId, answer: { text: 'blue' } })
    await expect(answer).rejects.toMatchObject({ code: 'unknown_kind' })
    expect(await desk.cancel({ interactionId: one.interactionId })).toMatchObject({
      interaction: { settlement: 'cancelled' },
    })
    const { settlement } = await waiting(desk, two.interactionId)
    clock.advance(1000)
    expect(await settlement).toMatchObject({ settlement: 'timed_out' })
    expect(errors).toEqual([])
  })
})

it.each<[string, unknown]>([
  ['nothing', undefined],
  ['no name', {}],
  ['a name with a space', { kind: 'my kind' }],
  ['no presentation', { kind: 'color' }],
  ['a presentation of its own', { kind: 'color', presentation: 'popup' }],
  ['no schemas', { kind: 'color', presentation: 'tool' }],
  ['a settle that is no function', { ...color, settle: 5 }],
  ['a schema that cannot validate', { kind: 'color', presentation: 'tool', request: { '~standard': {} } }],
])('a kind defined by %s is refused', (_, definition) => {
  expect(() => defineInteraction(definition as never)).toThrow(
    expect.objectContaining({ code: 'invalid_request' }),
  )
})

describe('a kind with a broken definition', () => {
  const anything = schema((value) => value)
  const own = { kind: 'own', presentation: 'tool', request: anything, answer: anything } as const

  it.each<[string, unknown]>([
    ['later', Promise.resolve({ settlement: 'answered', answer: 1 })],
    ['with nothing', undefined],
    ['with a settlement that there is not', { settlement: 'foo', answer: 1 }],
    ['with a settlement that is not its own', { settlement: 'cancelled', answer: 1 }],
    ['with a message that is no text', { settlement: 'denied', answer: 1, message: 7 }],
    ['with no answer', { settlement: 'answered' }],
    ['with an answer that is no JSON', { settlement: 'answered', answer: 1n }],
    ['with an answer that holds a lone surrogate', { settlement: 'answered', answer: '\ud800' }],
    ['with errors that are none', { errors: 'bad' }],
    ['with no errors', { errors: null }],
  ])('that settles %s: the answer is refused, and the interaction stays pending', async (_, outcome) => {
    const { desk, open, seq } = await testDesk({ kinds: [{ ...own, settle: () => outcome as never }] })
    const { interactionId } = await open('own', {})
    const before = await seq()
    await expect(desk.as(ada).respond({ interactionId, answer: 1 })).rejects.toBeInstanceOf(AskbackError)
    expect(await seq()).toBe(before)
    expect(await desk.interaction('s', interactionId)).toMatchObject({ status: 'pending' })
  })

  it('that checks or settles asynchronously and fails: only the caller gets the error', async () => {
    const later = () => Promise.reject(new Error('too late')) as never
    const checks = await testDesk({ kinds: [{ ...own, checkRequest: later }] })
    await expect(checks.open('own', {})).rejects.toMatchObject({ code: 'internal' })
    const { desk, open } = await testDesk({ kinds: [{ ...own, settle: later }] })
    const { interactionId } = await open('own', {})
    await expect(desk.as(ada).respond({ interactionId, answer: 1 })).rejects.toMatchObject({
      code: 'internal',
    })
    // An unhandled rejection would fail the test run.
    await tick()
  })

  it('that cancels its own interaction while it settles: the cancel wins, and the answer is too late', async () => {
    let cancel = () => {}
    const settle = () => {
      cancel()
      return { settlement: 'answered', answer: 1 } as const
    }
    const { desk, open, events } = await testDesk({ kinds: [{ ...own, settle }] })
    const { interactionId } = await open('own', {})
    cancel = () => void desk.cancel({ sessionId: 's', interactionId }).catch(() => undefined)
    const late = desk.as(ada).respond({ sessionId: 's', interactionId, answer: 1 })
    await expect(late).rejects.toMatchObject({ code: 'already_settled' })
    expect((await events()).filter(({ type }) => type === 'interaction_response')).toHaveLength(1)
  })
})
