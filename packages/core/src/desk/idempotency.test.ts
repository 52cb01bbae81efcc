import { AskbackError } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import type { Desk } from '../index.js'
import { ada, bob, database, listFiles, no, port, sqlite, testDesk, yes } from './test-desk.test.helper.js'

const key = { idempotencyKey: 'k' }
const tooHigh = { values: { port: 1e6 } }
const mismatch = { code: 'idempotency_mismatch' }

it('a key that created one session does not create another', async () => {
  const { desk } = await testDesk()
  await desk.createSession({ id: 'a', idempotencyKey: 'k' })
  await expect(desk.createSession({ id: 'b', idempotencyKey: 'k' })).rejects.toMatchObject({
    code: 'idempotency_mismatch',
  })
})

it('a key does not change the allowed depth of a request', async () => {
  const { open } = await testDesk()
  let input: unknown = 1
  for (let level = 0; level < 99; level++) input = [input]
  expect(await open('approval', { input }, { idempotencyKey: 'k' })).toMatchObject({ status: 'pending' })
})

describe('opening with a key', () => {
  it('again returns the first interaction, and writes nothing', async () => {
    const { opened, seq } = await testDesk()
    const first = await opened('question', database, key)
    const before = await seq()
    const second = await opened('question', database, key)
    expect([first.created, second.created]).toEqual([true, false])
    expect(second.interaction).toEqual(first.interaction)
    expect(second.events).toEqual(first.events)
    expect(await seq()).toBe(before)
  })

  it.each([
    ['another request', 'approval', listFiles, {}],
    ['another kind', 'plan_review', { plan: '' }, {}],
    ['another tool', 'question', database, { toolName: 'Else' }],
    ['another tool call', 'question', database, { toolCallId: 'else' }],
    ['another deadline', 'question', database, { timeoutMs: 5 }],
    ['another default', 'question', database, { onTimeout: 'keep' as const }],
  ])('for %s is refused', async (_, kind, request, more) => {
    const { desk, opened } = await testDesk()
    await opened('question', database, key)
    await expect(opened(kind, request, { ...more, ...key })).rejects.toMatchObject(mismatch)
    expect((await desk.pending()).interactions).toHaveLength(1)
  })

  it('many times at once opens one interaction', async () => {
    const { desk, opened } = await testDesk()
    const all = await Promise.all(Array.from({ length: 10 }, () => opened('approval', listFiles, key)))
    expect(new Set(all.map(({ interaction }) => interaction.interactionId)).size).toBe(1)
    expect(all.filter(({ created }) => created)).toHaveLength(1)
    expect((await desk.pending()).interactions).toHaveLength(1)
  })

  it('after a restart with another default deadline returns the first interaction with its settlement', async () => {
    const test = await testDesk()
    const { interactionId } = await test.open('question', database, key)
    await test.desk.as(ada).respond({ interactionId, answer: sqlite })
    test.restart({ timeouts: { defaultMs: 5 } })
    expect(await test.opened('question', database, key)).toMatchObject({
      created: false,
      interaction: { interactionId, settlement: 'answered', answer: sqlite },
    })
  })

  it('counts only in its session, and the key is deleted with it', async () => {
    const { desk, opened } = await testDesk()
    await desk.createSession({ id: 'other' })
    await opened('question', database, key)
    expect(await opened('approval', listFiles, { ...key, sessionId: 'other' })).toMatchObject({
      created: true,
    })
    await desk.deleteSession('s')
    await desk.createSession({ id: 's' })
    expect(await opened('approval', listFiles, key)).toMatchObject({ created: true })
  })

  it('stores no key if the append failed', async () => {
    const { store, opened } = await testDesk()
    const append = store.append.bind(store)
    store.append = () => Promise.reject(new Error('disk'))
    await expect(opened('question', database, key)).rejects.toThrow('disk')
    store.append = append
    expect(await opened('question', database, key)).toMatchObject({ created: true })
  })

  it('finds an append of unknown outcome again by its key', async () => {
    const test = await testDesk()
    const { store } = test
    const append = store.append.bind(store)
    store.append = async (change) => {
      store.append = append
      await append(change)
      throw new AskbackError('unavailable', 'The disk does not answer.')
    }
    await expect(test.opened('question', database, key)).rejects.toMatchObject({ code: 'unavailable' })
    expect(await test.opened('question', database, key)).toMatchObject({ created: false })
    expect((await test.desk.pending()).interactions).toHaveLength(1)
  })

  it('and attaching returns the same interaction each time', async () => {
    const { desk, opened } = await testDesk()
    const own = { toolCallId: 't', attach: true }
    const { interaction } = await opened('question', database, own)
    const send = () => opened('question', database, { ...own, ...key })
    expect(await send()).toMatchObject({
      created: false,
      interaction: { interactionId: interaction.interactionId },
    })
    await desk.cancel({ interactionId: interaction.interactionId })
    expect(await send()).toMatchObject({ created: false, interaction: { settlement: 'cancelled' } })
  })

  it('again after an approval by policy returns it as already claimed', async () => {
    const { desk } = await testDesk({ session: { permissionMode: 'bypassPermissions' } })
    const ask = () => desk.session('s').approve({ toolName: 'Bash', ...listFiles, ...key })
    expect(await ask()).toMatchObject({ settlement: 'approved', inDoubt: false })
    expect(await ask()).toMatchObject({ settlement: 'approved', inDoubt: true })
  })
})

describe('answering with a key', () => {
  it('[L3] again gives the same result', async () => {
    const { desk, open, seq } = await testDesk()
    const { interactionId } = await open('question', database)
    const answer = { ...key, interactionId, answer: sqlite }
    const first = await desk.as(ada).respond(answer)
    const before = await seq()
    expect(await desk.as(ada).respond(answer)).toEqual(first)
    expect(await seq()).toBe(before)
    await expect(desk.as(ada).respond({ interactionId, answer: sqlite })).rejects.toMatchObject({
      code: 'already_settled',
    })
  })

  it('refuses another answer under the same key, and the same answer to another interaction', async () => {
    const { desk, open } = await testDesk()
    const one = await open('approval', listFiles)
    const two = await open('approval', listFiles)
    await desk.as(ada).respond({ ...key, interactionId: one.interactionId, answer: yes })
    for (const [{ interactionId }, answer] of [
      [one, no],
      [two, yes],
    ] as const) {
      await expect(desk.as(ada).respond({ ...key, interactionId, answer })).rejects.toMatchObject(mismatch)
    }
    expect(await desk.interaction('s', two.interactionId)).toMatchObject({ status: 'pending' })
  })

  it('again after a lost race is refused in the same way', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('approval', listFiles)
    await desk.as(ada).respond({ interactionId, answer: no })
    for (let count = 0; count < 2; count++) {
      await expect(desk.as(bob).respond({ ...key, interactionId, answer: yes })).rejects.toMatchObject({
        code: 'already_settled',
        details: { interaction: { by: ada.by } },
      })
    }
  })

  it('[L6] again after a reprompt gives the same error with the same new interaction', async () => {
    const { desk, open, restart, seq } = await testDesk()
    const { interactionId } = await open('form', port)
    const send = (at: Desk) =>
      at
        .as(ada)
        .respond({ ...key, interactionId, answer: tooHigh })
        .catch((error: unknown) => error)
    const first = await send(desk)
    const before = await seq()
    expect(first).toMatchObject({
      code: 'invalid_answer',
      details: { errors: {}, interaction: { status: 'pending' } },
    })
    expect(await send(desk)).toEqual(first)
    expect(await send(restart())).toEqual(first)
    expect(await seq()).toBe(before)
  })

  it('[L4] again after a late answer is refused in the same way', async () => {
    const { desk, clock, open } = await testDesk()
    const { interactionId } = await open('question', database, { timeoutMs: 10 })
    clock.jump(10)
    for (let count = 0; count < 2; count++) {
      await expect(desk.as(ada).respond({ ...key, interactionId, answer: sqlite })).rejects.toMatchObject({
        details: { interaction: { settlement: 'timed_out' } },
      })
    }
  })

  it('may correct an invalid answer under the same key, because it had no effect', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('question', database)
    const send = (answer: unknown) => desk.as(ada).respond({ ...key, interactionId, answer })
    await expect(send({ answers: [] })).rejects.toMatchObject({ code: 'invalid_answer' })
    expect(await send(sqlite)).toMatchObject({ interaction: { answer: sqlite } })
  })

  it.each([
    ['question', database, { kind: 'question', answers: { 0: 'SQLite' } }],
    ['approval', listFiles, { kind: 'approval', decision: 'approve' }],
    ['approval', listFiles, { kind: 'approval', decision: 'deny', message: 'No.' }],
  ] as const)('by tool call, twice for a %s, settles it once', async (kind, request, answer) => {
    const { desk, open } = await testDesk()
    await open(kind, request, { toolCallId: 't' })
    const send = (more: object = {}) =>
      desk.as(ada).answerToolCall({ ...key, sessionId: 's', toolCallId: 't', ...answer, ...more })
    const first = await send()
    expect(await send()).toEqual(first)
    await expect(send({ toolCallId: 'u' })).rejects.toMatchObject(mismatch)
    await expect(
      desk.as(ada).answerToolCall({ sessionId: 's', toolCallId: 't', ...answer }),
    ).rejects.toMatchObject({
      code: 'already_settled',
    })
  })
})
