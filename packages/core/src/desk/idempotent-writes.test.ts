import { describe, expect, it } from 'vitest'
import { ada, database, sqlite, testDesk, type TestDesk } from './test-desk.test.helper.js'

const key = { idempotencyKey: 'k' }
const mismatch = { code: 'idempotency_mismatch' }

describe('every other command with a key', () => {
  it('creates one session', async () => {
    const { desk } = await testDesk()
    const make = (title: string) => desk.createSession({ title, ...key })
    const [first, second] = await Promise.all([make('A'), make('A')])
    expect(second.session.id).toBe(first.session.id)
    expect([first.created, second.created].filter(Boolean)).toHaveLength(1)
    expect(await make('A')).toMatchObject({ created: false, session: { id: first.session.id } })
    await expect(make('B')).rejects.toMatchObject(mismatch)
  })

  it('returns the created session also at the limit of sessions', async () => {
    const { desk } = await testDesk({ limits: { sessions: 2 } })
    const { session } = await desk.createSession(key)
    expect(await desk.createSession(key)).toMatchObject({ created: false, session: { id: session.id } })
  })

  const writes: [string, (test: TestDesk) => Promise<unknown>][] = [
    ['message', ({ desk }) => desk.as(ada).message({ ...key, sessionId: 's', text: 'Hello' })],
    ['clear', ({ desk }) => desk.as(ada).clear('s', { ...key })],
    [
      'report',
      ({ desk }) =>
        desk.report({
          sessionId: 's',
          events: [{ type: 'error', code: 'x', message: 'x', fatal: false }],
          ...key,
        }),
    ],
    ['tool call', ({ desk }) => desk.reportToolCall({ sessionId: 's', toolName: 'T', input: {}, ...key })],
  ]
  it.each(writes)('%s takes effect once', async (_, write) => {
    const test = await testDesk()
    await write(test)
    const after = await test.events()
    await write(test)
    expect(await test.events()).toEqual(after)
    expect(after.length).toBeGreaterThan(1)
  })

  it('a tool call gets the same id, even if it is outside the window', async () => {
    const { desk } = await testDesk()
    const call = () => desk.reportToolCall({ sessionId: 's', toolName: 'T', input: { a: 1 }, ...key })
    const { toolCall } = await call()
    for (let count = 0; count < 25; count++) await desk.as(ada).message({ sessionId: 's', text: 'And?' })
    expect(await call()).toMatchObject({
      created: false,
      toolCall: { toolCallId: toolCall.toolCallId, input: { a: 1 } },
    })
  })

  it('a repeated interrupt cancels nothing that was opened since', async () => {
    const { desk, open } = await testDesk()
    await open('question', database)
    await desk.as(ada).interrupt('s', { ...key })
    const { interactionId } = await open('question', database)
    await desk.as(ada).interrupt('s', { ...key })
    expect(await desk.interaction('s', interactionId)).toMatchObject({ status: 'pending' })
  })

  it('a repeated change of the mode does not undo a later one', async () => {
    const { desk } = await testDesk()
    await desk.setPermissionMode('s', 'plan', key)
    await desk.setPermissionMode('s', 'acceptEdits')
    await desk.setPermissionMode('s', 'plan', key)
    expect((await desk.snapshot('s')).session.permissionMode).toBe('acceptEdits')
    await expect(desk.setPermissionMode('s', 'default', key)).rejects.toMatchObject(mismatch)
  })

  it('a repeated cancel or deletion has the result of the first', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('question', database)
    const first = await desk.as(ada).cancel({ ...key, interactionId })
    expect(await desk.as(ada).cancel({ ...key, interactionId })).toEqual(first)
    await desk.deleteSession('s', key)
    await desk.deleteSession('s', key)
    await expect(desk.deleteSession('s')).rejects.toMatchObject({ code: 'not_found' })
  })

  it('the same key for different commands does not count as a repetition', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('question', database, key)
    await desk.as(ada).respond({ ...key, interactionId, answer: sqlite })
    await desk.as(ada).message({ ...key, sessionId: 's', text: 'Hello' })
    await desk.clear('s', key)
    expect(await desk.interrupt('s', key)).toEqual({ repeated: false })
  })

  it.each([
    ['an empty text', ''],
    ['a long text', 'x'.repeat(1001)],
    ['a lone surrogate', '\ud800'],
    ['a number', 5],
  ])('%s is not a valid key', async (_, idempotencyKey) => {
    const { opened } = await testDesk()
    const wrong = { idempotencyKey: idempotencyKey as string }
    await expect(opened('question', database, wrong)).rejects.toMatchObject({ code: 'invalid_request' })
  })
})
