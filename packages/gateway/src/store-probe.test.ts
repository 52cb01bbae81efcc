import { memoryStore, type Store } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import { AskbackError } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { StoreProbe } from './store-probe.js'

function probed() {
  const inner = memoryStore()
  const clock = fakeClock()
  const state = { put: 'works' as 'works' | 'fails' | 'hangs' | 'conflicts', writes: 0 }
  const put: Store['kv']['put'] = (...call) => {
    state.writes++
    if (state.put === 'hangs') return new Promise(() => undefined)
    if (state.put === 'conflicts') return Promise.resolve(false)
    if (state.put === 'fails') return Promise.reject(new AskbackError('unavailable', 'The disk is full.'))
    return inner.kv.put(...call)
  }
  const probe = new StoreProbe({ ...inner, kv: { ...inner.kv, put } }, clock)
  const check = () =>
    probe.check().then(
      () => 'ready',
      (error: unknown) => (error as Error).message,
    )
  return { state, clock, check }
}

describe('the look at the store', () => {
  it('succeeds where it can be read and written, and again', async () => {
    const { clock, check } = probed()
    expect(await check()).toBe('ready')
    clock.advance(1000)
    expect(await check()).toBe('ready')
  })

  it('says why it cannot be written, and recovers by itself', async () => {
    const { state, clock, check } = probed()
    state.put = 'fails'
    expect(await check()).toBe('The disk is full.')
    state.put = 'works'
    clock.advance(1000)
    expect(await check()).toBe('ready')
  })

  it('does not wait for ever', async () => {
    const { state, clock, check } = probed()
    state.put = 'hangs'
    const checked = check()
    await Promise.resolve()
    clock.advance(3000)
    expect(await checked).toBe('The store does not answer.')
  })

  it('is made once at a time: a store that hangs is not asked again and again', async () => {
    const { state, clock, check } = probed()
    state.put = 'hangs'
    for (let second = 0; second < 10; second++) {
      const checked = check()
      await Promise.resolve()
      await Promise.resolve()
      clock.advance(3000)
      expect(await checked).toBe('The store does not answer.')
    }
    expect(state.writes).toBe(1)
  })

  it('is not misled by another gateway that writes at the same time', async () => {
    const { state, check } = probed()
    state.put = 'conflicts'
    expect(await check()).toBe('ready')
  })

  it('happens once a second, however many ask', async () => {
    const { state, clock, check } = probed()
    await Promise.all(Array.from({ length: 50 }, check))
    clock.advance(999)
    await check()
    expect(state.writes).toBe(1)
    clock.advance(1)
    await check()
    expect(state.writes).toBe(2)
    clock.jump(-60_000)
    await check()
    expect(state.writes).toBe(3)
  })
})
