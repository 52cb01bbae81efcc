import { describe, expect, it } from 'vitest'
import { memoryStore } from '../store/memory-store.js'
import type { Store } from '../store/store.js'
import { createDesk } from './desk.js'
import { ada, database, listFiles, port, sqlite, testDesk, tick } from './test-desk.test.helper.js'

describe('limits', () => {
  it('a request of 1 MiB is accepted, and one byte more is too large', async () => {
    const { open } = await testDesk()
    const plan = (bytes: number) => ({ plan: 'é'.repeat((bytes - 11) / 2) + 'x'.repeat((bytes - 11) % 2) })
    expect(await open('plan_review', plan(1024 * 1024))).toMatchObject({ status: 'pending' })
    await expect(open('plan_review', plan(1024 * 1024 + 1))).rejects.toMatchObject({ code: 'too_large' })
    const small = await testDesk({ limits: { requestBytes: 100 } })
    await expect(small.open('question', database)).rejects.toMatchObject({ code: 'too_large' })
  })

  it('too many sessions are refused, also when they are created concurrently', async () => {
    const { desk } = await testDesk({ limits: { sessions: 4 } })
    const made = await Promise.allSettled(Array.from({ length: 20 }, () => desk.createSession({})))
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    expect((await desk.sessions()).items).toHaveLength(4)
  })

  it('concurrent calls that create the same session create one', async () => {
    const inner = memoryStore()
    const count = async () => {
      await tick()
      return inner.countSessions()
    }
    const append: Store['append'] = async (given) => {
      await tick()
      await tick()
      return inner.append(given)
    }
    const desk = createDesk({ store: { ...inner, countSessions: count, append }, limits: { sessions: 1 } })
    const asking = [1, 2, 3].map(() => desk.session('only').ask(database))
    await expect.poll(async () => (await desk.pending()).interactions.length).toBe(3)
    for (const { interactionId } of (await desk.pending()).interactions)
      await desk.as(ada).respond({ interactionId, answer: sqlite })
    for (const settled of await Promise.all(asking)) expect(settled).toMatchObject({ settlement: 'answered' })
  })

  it('concurrent adoptions do not exceed the limit of sessions together', async () => {
    const { desk } = await testDesk({ limits: { sessions: 2 } })
    const adopting = ['a', 'b', 'c'].map((agentSessionId) =>
      desk.as({ by: ada.by }).adopt({ agent: 'codex', agentSessionId, items: [] }),
    )
    const adopted = await Promise.allSettled(adopting)
    expect(adopted.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect((await desk.sessions()).items).toHaveLength(2)
  })

  it('too many pending interactions are refused, until one is settled', async () => {
    const { desk, open } = await testDesk({ limits: { pendingPerSession: 2 } })
    const { interactionId } = await open('question', database, { toolCallId: 't', attach: true })
    await open('question', database)
    await expect(open('question', database)).rejects.toMatchObject({ code: 'rate_limited' })
    await desk.createSession({ id: 'other' })
    expect(await open('question', database, { sessionId: 'other' })).toMatchObject({ status: 'pending' })
    await desk.as(ada).respond({ interactionId, answer: sqlite })
    expect(await open('question', database)).toMatchObject({ status: 'pending' })
  })

  it('a request that adds no pending interaction is accepted at the limit', async () => {
    const limited = { limits: { pendingPerSession: 1 } }
    const { desk, open } = await testDesk(limited)
    const own = { toolCallId: 't', attach: true }
    const first = await open('form', port, own)
    expect(await open('form', port, own)).toMatchObject({ interactionId: first.interactionId })
    expect(await open('form', { ...port, message: 'Else?' }, own)).toMatchObject({ status: 'pending' })
    await desk.setPermissionMode('s', 'bypassPermissions')
    expect(await open('approval', listFiles)).toMatchObject({ settlement: 'approved' })
    const [item] = (await desk.pending()).interactions
    const wrong = desk
      .as(ada)
      .respond({ interactionId: item!.interactionId, answer: { values: { port: 1e6 } } })
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_answer', details: { errors: {} } })
  })

  it('too many sessions are refused, until one is deleted', async () => {
    const { desk } = await testDesk({ limits: { sessions: 1 } })
    await expect(desk.createSession()).rejects.toMatchObject({ code: 'rate_limited' })
    await desk.deleteSession('s')
    expect(await desk.createSession()).toMatchObject({ created: true })
  })
})
