import { memoryStore, type Store } from '@askback/core'
import type { SharedClock } from '@askback/core/store'
import { fakeClock } from '@askback/core/testing'
import { AskbackError } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { StoreProbe, watchClock } from './store-health.js'
import { Api, startTestGateway } from './testing/index.js'

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

describe('the check of the store', () => {
  it('succeeds if the store can be read and written, also the second time', async () => {
    const { clock, check } = probed()
    expect(await check()).toBe('ready')
    clock.advance(1000)
    expect(await check()).toBe('ready')
  })

  it('fails with the reason if the store cannot be written, and recovers', async () => {
    const { state, clock, check } = probed()
    state.put = 'fails'
    expect(await check()).toBe('The disk is full.')
    state.put = 'works'
    clock.advance(1000)
    expect(await check()).toBe('ready')
  })

  it('fails if the store does not respond in time', async () => {
    const { state, clock, check } = probed()
    state.put = 'hangs'
    const checked = check()
    await Promise.resolve()
    clock.advance(3000)
    expect(await checked).toBe('The store does not answer.')
  })

  it('runs once at a time, also while the store hangs', async () => {
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

  it('succeeds if another gateway writes at the same time', async () => {
    const { state, check } = probed()
    state.put = 'conflicts'
    expect(await check()).toBe('ready')
  })

  it('runs at most once a second, however many callers there are', async () => {
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

function measuredClock(skewMs = 0) {
  const listeners = new Set<() => void>()
  const clock = {
    ...fakeClock(),
    skewMs,
    errorMs: 1,
    onMeasured(listener: () => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  } satisfies SharedClock
  const measure = (found: number, errorMs = 1) => {
    Object.assign(clock, { skewMs: found, errorMs })
    for (const listener of listeners) listener()
  }
  return { clock, measure, listeners }
}

function watched(skewMs = 0) {
  const said: string[] = []
  const { clock, measure, listeners } = measuredClock(skewMs)
  const stop = watchClock(clock, (details, message) => said.push(`${JSON.stringify(details)} ${message}`))
  return { said, measure, stop, listeners }
}

it('warns once when the clocks begin to differ by more than a second, and once when that is over', () => {
  const { said, measure } = watched()
  for (const skew of [0, 999, -999, 1000]) measure(skew)
  expect(said).toEqual([])
  for (const skew of [-90_000, -90_010, -1500, -950]) measure(skew)
  expect(said).toEqual([
    '{"clockOffsetSeconds":-90} The clock of this machine is 90.0 s behind the database’s. Deadlines go by the database; set this clock.',
  ])
  for (const skew of [-100, 0, 950, -1000]) measure(skew)
  expect(said).toHaveLength(2)
  expect(said[1]).toContain('agrees with the database')
  measure(2000)
  expect(said[2]).toContain('2.0 s ahead of the database')
})

it('warns at once if the clocks differ at the start, but not within the error of the measurement', () => {
  expect(watched(90_000).said).toHaveLength(1)
  const { said, measure } = watched()
  measure(1500, 600)
  expect(said).toEqual([])
})

it('stops when it is asked to', () => {
  const { stop, listeners } = watched()
  expect(listeners.size).toBe(1)
  stop()
  expect(listeners.size).toBe(0)
})

it('the metrics have the difference of the clocks, if the store has a clock', async () => {
  const { clock, measure, listeners } = measuredClock(-90_000)
  const gateway = await startTestGateway({ listen: false, store: { ...memoryStore(), clock } })
  const metrics = async () => (await new Api(gateway).get<string>('/api/metrics')).body
  expect(await metrics()).toMatch(/^askback_clock_offset_seconds -90$/m)
  measure(250)
  expect(await metrics()).toMatch(/^askback_clock_offset_seconds 0.25$/m)
  await gateway.close()
  expect(listeners.size).toBe(0)
  const alone = await startTestGateway({ listen: false })
  expect((await new Api(alone).get<string>('/api/metrics')).body).not.toContain('clock_offset')
  await alone.close()
})
