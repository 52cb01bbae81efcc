import { describe, expect, it } from 'vitest'
import { memoryStore } from '../store/memory-store.js'
import type { Store } from '../store/store.js'
import { fakeClock } from '../testing/fake-clock.js'
import { createDesk } from './desk.js'
import { ada, listFiles, testDesk, tick, waiting, yes } from './test-desk.test.helper.js'
import { AskbackError } from '@askback/protocol'

describe('published state', () => {
  it('a snapshot contains nothing beyond its seq, also while more is written', async () => {
    const base = memoryStore()
    let held: (() => void)[] | null = null
    const store: Store = {
      ...base,
      append: async (append) => {
        if (held) await new Promise<void>((resolve) => held!.push(resolve))
        return base.append(append)
      },
    }
    const desk = createDesk({ store, clock: fakeClock() })
    await desk.createSession({ id: 's', agent: 'demo' })
    const report = (text: string) =>
      desk.report({ sessionId: 's', events: [{ type: 'text', blockId: text, text }] })
    held = []
    const one = report('one')
    await tick()
    const snapshot = desk.snapshot('s')
    await tick()
    const two = report('two')
    await tick()
    held[0]!()
    const { seq, state } = await snapshot
    for (const release of held.slice(1)) release()
    held = null
    await Promise.all([one, two])
    const log = await base.read({ sessionId: 's', limit: 100 })
    expect(log[seq - 1]).toMatchObject({ text: 'one' })
    expect(JSON.stringify(state.turns)).not.toContain('two')
  })

  it('[L10] an approval whose append was written although it failed is returned, and is not in doubt', async () => {
    const base = memoryStore()
    let loses = false
    const store: Store = {
      ...base,
      append: async (append) => {
        const result = await base.append(append)
        if (!loses) return result
        loses = false
        throw new AskbackError('unavailable', 'The connection was lost during the commit.')
      },
    }
    const { desk, open, events } = await testDesk({ store })
    const { interactionId } = await open('approval', listFiles)
    const { settlement } = await waiting(desk, interactionId)
    loses = true
    const answered = desk.as(ada).respond({ interactionId, answer: yes })
    await expect(answered).rejects.toMatchObject({ code: 'unavailable' })
    expect(await settlement).toMatchObject({ settlement: 'approved', inDoubt: false })
    expect((await events()).filter(({ type }) => type === 'interaction_delivered')).toHaveLength(1)
  })

  it('an acknowledged append proves that the one before it was written, although its reply was lost', async () => {
    const base = memoryStore()
    let loses = false
    const store: Store = {
      ...base,
      append: async (append) => {
        const isLost = loses
        loses = false
        const result = await base.append(append)
        if (isLost) throw new AskbackError('unavailable', 'The reply was lost.')
        return result
      },
      // The read that would show it never returns.
      read: (query) => (query.after === undefined ? base.read(query) : new Promise(() => undefined)),
    }
    const { desk, open } = await testDesk({ store })
    const { interactionId } = await open('approval', listFiles)
    const { settlement } = await waiting(desk, interactionId)
    const received: number[] = []
    desk.on(({ events }) => received.push(...events.map(({ seq }) => seq)))
    loses = true
    const report = (text: string) =>
      desk.report({ sessionId: 's', events: [{ type: 'text', blockId: text, text }] })
    const lost = desk.as(ada).respond({ sessionId: 's', interactionId, answer: yes })
    const acknowledged = report('next')
    await expect(lost).rejects.toMatchObject({ code: 'unavailable' })
    await acknowledged
    expect(await settlement).toMatchObject({ settlement: 'approved', inDoubt: false })
    expect(received).toEqual([5, 6, 7, 8, 9])
  })

  it('a waiter whose claim was not written continues to wait', async () => {
    const base = memoryStore()
    let refuses = false
    const store: Store = {
      ...base,
      append: (append) => {
        if (!refuses) return base.append(append)
        refuses = false
        return Promise.reject(new AskbackError('unavailable', 'Nobody knows.'))
      },
    }
    const { desk, open } = await testDesk({ store })
    const { interactionId } = await open('approval', listFiles)
    const { settlement } = await waiting(desk, interactionId)
    refuses = true
    await expect(desk.as(ada).respond({ interactionId, answer: yes })).rejects.toThrow('Nobody knows.')
    await tick()
    await desk.as(ada).respond({ interactionId, answer: yes })
    expect(await settlement).toMatchObject({ settlement: 'approved', inDoubt: false })
  })

  it('a follower gets every event once and in order, also those of other processes while the session is not in memory', async () => {
    const store: Store = { ...memoryStore(), shared: true }
    const [here, there] = [0, 1].map((prefix) =>
      createDesk({ store, clock: fakeClock(), newId: ids(`${prefix}-`), limits: { inMemory: 1 } }),
    )
    await there!.createSession({ id: 's' })
    const seen: number[] = []
    let gone = 0
    const { head } = await here!.follow('s', {
      advanced: ({ events }) => seen.push(...events.map(({ seq }) => seq)),
      gone: () => gone++,
    })
    expect(head.seq).toBe(1)
    for (let count = 0; count < 5; count++) {
      await there!.as(ada).message({ sessionId: 's', text: 'x', route: 'agent' })
      // Evicts the session from the memory of this desk.
      await here!.createSession({ id: `other-${count}` })
    }
    await tick()
    const log = await store.read({ sessionId: 's', after: 1, limit: 100 })
    expect(seen).toEqual(log.map(({ seq }) => seq))
    await there!.deleteSession('s')
    await here!.refresh('s')
    expect(gone).toBe(1)
    for (const desk of [here!, there!]) desk.close()
  })

  it('a store that loses confirmed events is reported, and the loss does not count as a deletion', async () => {
    const base = memoryStore()
    let isShort = false
    const store: Store = {
      ...base,
      shared: true,
      read: async (query) => (await base.read(query)).filter(({ seq }) => !isShort || seq < 2),
    }
    const { desk } = await testDesk({ store })
    let gone = 0
    await desk.as(ada).message({ sessionId: 's', text: 'x', route: 'agent' })
    await desk.follow('s', { advanced: () => undefined, gone: () => gone++ })
    isShort = true
    await expect(desk.refresh('s')).rejects.toMatchObject({ code: 'unavailable' })
    isShort = false
    await desk.refresh('s')
    expect(gone).toBe(0)
  })
})

function ids(prefix: string): () => string {
  let count = 0
  return () => `${prefix}${++count}`
}
