import { AskbackError } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../store/memory-store.js'
import type { Store } from '../store/store.js'
import { countingIds, fakeClock } from '../testing/fake-clock.js'
import { createDesk } from './desk.js'
import { ada, database, sqlite, tick } from './test-desk.test.helper.js'

/** Two desks on one store. The first gets no doorbells, and can be disconnected from the store. */
async function cutOffDesk() {
  const base: Store = { ...memoryStore(), shared: true }
  const clock = fakeClock()
  let how: 'well' | 'fails' | 'hangs' = 'well'
  const through =
    <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> => {
      if (how === 'well') return call(...args)
      if (how === 'hangs') return new Promise(() => undefined)
      return Promise.reject(new AskbackError('unavailable', 'The database is away.'))
    }
  const store: Store = {
    ...base,
    onAppend: () => () => undefined,
    read: through((query) => base.read(query)),
    changes: through((query) => base.changes(query)),
    interaction: through((id) => base.interaction(id)),
  }
  const onError = () => undefined
  const here = createDesk({ store, clock, newId: countingIds('a'), onError })
  const there = createDesk({ store: base, clock, newId: countingIds('b'), onError })
  await Promise.all([here.ready, there.ready])
  await there.createSession({ id: 's' })
  const { interactionId } = (await there.open({ sessionId: 's', kind: 'question', request: database }))
    .interaction
  await here.snapshot('s')
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 1000) {
      clock.advance(1000)
      await tick()
    }
  }
  const answer = () => there.as(ada).respond({ interactionId, answer: sqlite })
  const cut = (next: typeof how) => (how = next)
  const status = (fresh: boolean) =>
    here.interaction('s', interactionId, { fresh }).then(
      (item) => item.status,
      (error: unknown) => (error as AskbackError).code,
    )
  return { here, clock, pass, cut, answer, status }
}

describe('reads on a store that other processes write to', () => {
  it('are up to date if they must be fresh', async () => {
    const { answer, status } = await cutOffDesk()
    await answer()
    expect(await status(true)).toBe('settled')
  })

  it('are at most as old as allowed: the poll finds changes without a doorbell', async () => {
    const { answer, pass, status } = await cutOffDesk()
    await answer()
    expect(await status(false)).toBe('pending')
    await pass(6000)
    expect(await status(false)).toBe('settled')
  })

  it('fail if the store cannot be reached and the state in memory is too old', async () => {
    const { answer, cut, pass, status } = await cutOffDesk()
    cut('fails')
    await answer()
    expect(await status(true)).toBe('unavailable')
    await pass(11_000)
    expect(await status(false)).toBe('unavailable')
    cut('well')
    expect(await status(false)).toBe('settled')
  })

  it('fail after a timeout if the store hangs', async () => {
    const { cut, pass, status } = await cutOffDesk()
    cut('hangs')
    const read = status(true)
    await pass(5000)
    expect(await read).toBe('unavailable')
  })

  it('for a snapshot have the same limit', async () => {
    const { here, answer, cut, pass } = await cutOffDesk()
    cut('fails')
    await answer()
    await pass(11_000)
    await expect(here.snapshot('s')).rejects.toMatchObject({ code: 'unavailable' })
  })
})
