import { describe, expect, it } from 'vitest'
import { ada, testDesk } from './test-desk.test.helper.js'

const tags = { tenant: 'acme' }

describe('tags of a session', () => {
  it('are set when it is created, and stand in its snapshot, its row and its log', async () => {
    const { desk, store, events } = await testDesk({ session: { tags } })
    expect((await desk.snapshot('s')).session.tags).toEqual(tags)
    expect((await store.session('s'))?.tags).toEqual(tags)
    expect((await desk.sessions()).items).toMatchObject([{ id: 's', tags }])
    expect((await events())[0]).toMatchObject({ type: 'session_started', tags })
  })

  it('are replaced by one event, which is in the audit with its actor', async () => {
    const test = await testDesk({ session: { tags } })
    await test.desk.as(ada).setTags('s', { tenant: 'globex', team: 'ops' })
    expect((await test.events()).at(-1)).toMatchObject({
      type: 'session_tags',
      tags: { tenant: 'globex', team: 'ops' },
      ...ada,
    })
    expect((await test.desk.audit()).items).toMatchObject([
      { act: 'session_tags', sessionId: 's', subject: 'tenant=globex team=ops', ...ada },
    ])
    expect((await test.store.session('s'))?.tags).toEqual({ tenant: 'globex', team: 'ops' })
  })

  it('are the same after a restart, and none are left once all are removed', async () => {
    const test = await testDesk({ session: { tags } })
    expect((await test.restart().snapshot('s')).session.tags).toEqual(tags)
    await test.desk.setTags('s', {})
    expect((await test.desk.snapshot('s')).session).not.toHaveProperty('tags')
    expect(await test.store.session('s')).not.toHaveProperty('tags')
  })

  it('change nothing if they are the same in another order, or under the same idempotency key', async () => {
    const test = await testDesk({ session: { tags: { a: '1', b: '2' } } })
    const seq = await test.seq()
    await test.desk.setTags('s', { b: '2', a: '1' })
    expect(await test.seq()).toBe(seq)
    await test.desk.setTags('s', { a: '2' }, { idempotencyKey: 'k' })
    await test.desk.setTags('s', { a: '3' })
    await expect(test.desk.setTags('s', { a: '2' }, { idempotencyKey: 'k' })).resolves.toEqual({
      repeated: true,
    })
    expect((await test.desk.snapshot('s')).session.tags).toEqual({ a: '3' })
  })

  it.each([
    [{ __proto__x: 'a', '1': 'b' }, 'a name that does not begin with a letter'],
    [{ a: 1 }, 'a value that is no text'],
    [{ a: 'x'.repeat(201) }, 'a value that is too long'],
    [{ a: '\ud800' }, 'a lone surrogate'],
    [Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`t${index}`, ''])), 'more than 32'],
  ] as [object, string][])('are refused: %j, %s', async (wrong, _why) => {
    const { desk, seq } = await testDesk()
    const before = await seq()
    await expect(desk.setTags('s', wrong as Record<string, string>)).rejects.toMatchObject({
      code: 'invalid_request',
    })
    await expect(
      desk.createSession({ id: 't', tags: wrong as Record<string, string> }),
    ).rejects.toMatchObject({ code: 'invalid_request' })
    expect(await seq()).toBe(before)
  })
})
