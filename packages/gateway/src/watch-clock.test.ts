import { memoryStore, type SharedClock } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import { expect, it } from 'vitest'
import { Api, startTestGateway } from './testing/index.js'
import { watchClock } from './watch-clock.js'

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

it('warns at once if they differ at the start, and not about what it cannot know', () => {
  expect(watched(90_000).said).toHaveLength(1)
  const { said, measure } = watched()
  measure(1500, 600)
  expect(said).toEqual([])
})

it('ends with its watch', () => {
  const { stop, listeners } = watched()
  expect(listeners.size).toBe(1)
  stop()
  expect(listeners.size).toBe(0)
})

it('the metrics tell by how much they differ, and a gateway on a store without a clock tells nothing', async () => {
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
