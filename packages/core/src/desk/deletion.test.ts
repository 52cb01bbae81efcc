import { describe, expect, it } from 'vitest'
import { memoryStore, type Store } from '../index.js'
import { ada, database, listFiles, no, sqlite, testDesk, tick, waiting } from './test-desk.test.helper.js'

const DAY = 24 * 3_600_000

describe('deleting a session', () => {
  it('cancels for the waiters, then erases the log', async () => {
    const { desk, store, open } = await testDesk()
    const { interactionId } = await open('question', database)
    const { settlement } = await waiting(desk, interactionId)
    const watched = desk.wait(interactionId, { sessionId: 's', claim: false })
    await tick()
    await desk.as(ada).deleteSession('s')
    expect(await settlement).toMatchObject({
      settlement: 'cancelled',
      message: 'The session was deleted.',
      ...ada,
    })
    expect(await watched).toMatchObject({ settlement: 'cancelled' })
    expect(await store.read({ sessionId: 's', limit: 10 })).toEqual([])
    expect(await desk.pending()).toEqual({ interactions: [], next: null })
    expect((await desk.sessions()).items).toEqual([])
  })

  it('refuses requests that are opened meanwhile, which may be retried', async () => {
    const inner = memoryStore()
    let goOn = () => {}
    const held = new Promise<void>((resolve) => (goOn = resolve))
    const erase: Store['erase'] = (...args) => held.then(() => inner.erase(...args))
    const { desk } = await testDesk({ store: { ...inner, erase } })
    const deleted = desk.deleteSession('s')
    await tick()
    await expect(desk.session('s').ask(database)).rejects.toMatchObject({ code: 'unavailable' })
    goOn()
    await deleted
    const asked = desk.session('s').ask(database)
    await tick()
    expect((await desk.pending()).interactions).toHaveLength(1)
    await desk.deleteSession('s')
    expect(await asked).toMatchObject({ settlement: 'cancelled' })
  })

  it('a waiter that does not claim gets the cancel, too', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('question', database)
    const watched = desk.wait(interactionId, { sessionId: 's', claim: false })
    await tick()
    await desk.deleteSession('s')
    expect(await watched).toMatchObject({ settlement: 'cancelled' })
  })

  it('leaves nothing that could be read or answered, and takes no requests', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('question', database)
    await desk.deleteSession('s')
    const calls = [
      () => desk.snapshot('s'),
      () => desk.interaction('s', interactionId),
      () => desk.wait(interactionId),
      () => desk.as(ada).respond({ sessionId: 's', interactionId, answer: sqlite }),
      () => desk.as(ada).message({ sessionId: 's', text: 'Hello' }),
      () => open('question', database),
      () => desk.interrupt('s'),
      () => desk.deleteSession('s'),
    ]
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'not_found' })
  })

  it('keeps the decisions in the audit, without the messages', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('approval', listFiles)
    await desk.as(ada).respond({ interactionId, answer: { ...no, message: 'A secret reason.' } })
    expect((await desk.audit()).items).toMatchObject([{ message: 'A secret reason.' }])
    await desk.deleteSession('s')
    const [row] = (await desk.audit()).items
    expect(row).toMatchObject({ sessionId: 's', interactionId, settlement: 'denied', ...ada })
    expect(row).not.toHaveProperty('message')
  })

  it('allows its id to be used again, for another log', async () => {
    const { desk, open, seq } = await testDesk()
    await open('question', database)
    const { logId } = await desk.snapshot('s')
    await desk.deleteSession('s')
    await desk.createSession({ id: 's' })
    expect(await seq()).toBe(1)
    expect((await desk.snapshot('s')).logId).not.toBe(logId)
    expect((await desk.snapshot('s')).state.pending).toEqual([])
  })

  it('does not affect other sessions', async () => {
    const { desk, open } = await testDesk()
    await desk.createSession({ id: 's2' })
    await open('question', database)
    const { interaction } = await desk.open({ sessionId: 's2', kind: 'question', request: database })
    await desk.deleteSession('s')
    expect((await desk.pending()).interactions).toMatchObject([{ interactionId: interaction.interactionId }])
  })

  it('makes its deadlines do nothing', async () => {
    const { desk, clock, open, errors } = await testDesk()
    await open('question', database, { timeoutMs: 1000 })
    await desk.deleteSession('s')
    clock.advance(1000)
    await tick()
    expect(errors).toEqual([])
  })
})

describe('a crash in the middle of a deletion', () => {
  /** Fails to erase until the test ends that. */
  function stubborn(): { store: Store; erases: (allowed: boolean) => void } {
    const inner = memoryStore()
    let allowed = false
    const erase = (sessionId: string) =>
      allowed ? inner.erase(sessionId) : Promise.reject(new Error('crash'))
    return { store: { ...inner, erase }, erases: (now) => (allowed = now) }
  }

  it('leaves a session that cannot be used, and the next start completes the deletion', async () => {
    const { store, erases } = stubborn()
    const { desk, open, seq, restart } = await testDesk({ store })
    const { interactionId } = await open('question', database)
    const { settlement } = await waiting(desk, interactionId)
    await expect(desk.deleteSession('s')).rejects.toThrow('crash')
    expect(await settlement).toMatchObject({ settlement: 'cancelled' })
    await expect(desk.snapshot('s')).rejects.toMatchObject({ code: 'not_found' })
    expect(await seq()).toBeGreaterThan(0)
    erases(true)
    const again = restart()
    await again.ready
    expect(await seq()).toBe(0)
    expect(await store.kv.list('erase/')).toEqual([])
    await again.createSession({ id: 's' })
    expect(await seq()).toBe(1)
  })
})

describe('retention', () => {
  it('does not delete a session that was used again while others were deleted', async () => {
    const test = await testDesk()
    await test.desk.createSession({ id: 'other' })
    test.clock.advance(2 * DAY)
    let used = false
    const erase: Store['erase'] = async (sessionId, logId) => {
      if (!used) {
        used = true
        await test.desk.as(ada).message({ sessionId: sessionId === 's' ? 'other' : 's', text: 'Still here.' })
      }
      return test.store.erase(sessionId, logId)
    }
    const desk = test.restart({ store: { ...test.store, erase }, retentionMs: DAY })
    await desk.ready
    expect((await desk.sessions()).items).toHaveLength(1)
  })

  it('deletes sessions whose last event is older, at start and every hour', async () => {
    const { desk, clock, open } = await testDesk({ retentionMs: 30 * DAY })
    const { interactionId } = await open('question', database, { timeoutMs: null })
    const { settlement } = await waiting(desk, interactionId)
    await desk.createSession({ id: 'young' })
    clock.jump(29 * DAY)
    await desk.as(ada).message({ sessionId: 'young', text: 'Hello' })
    clock.advance(DAY)
    await tick()
    expect((await desk.sessions()).items).toHaveLength(2)
    clock.advance(3_600_000)
    await tick()
    expect((await desk.sessions()).items).toMatchObject([{ id: 'young' }])
    expect(await settlement).toMatchObject({ settlement: 'cancelled' })
  })

  it('at start', async () => {
    const { clock, restart } = await testDesk()
    clock.jump(2 * DAY)
    const desk = restart({ retentionMs: DAY })
    await desk.ready
    expect((await desk.sessions()).items).toEqual([])
  })

  it('is off unless it is set', async () => {
    const { clock, desk } = await testDesk()
    clock.advance(10_000 * DAY)
    await tick()
    expect((await desk.sessions()).items).toHaveLength(1)
  })
})
