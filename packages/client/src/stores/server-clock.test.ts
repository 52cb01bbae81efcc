import { expect, it } from 'vitest'
import { fakeClock } from '../testing/fake-clock.js'
import { ServerClock } from './server-clock.js'

it('is ours until something is known of it', () => {
  const clock = fakeClock()
  expect(new ServerClock(clock).now()).toBe(clock.now())
})

it.each([-3_600_000, 900_000])(
  'is told by what has just happened, %i ms from ours, until it is asked',
  async (ahead) => {
    const clock = fakeClock()
    const server = new ServerClock(clock)
    server.heard(clock.now() + ahead)
    expect(server.now()).toBe(clock.now() + ahead)
    expect(server.isKnown).toBe(false)
    await server.ask(() => Promise.resolve({ now: clock.now() + ahead + 7 }))
    expect(server.now()).toBe(clock.now() + ahead + 7)
    expect(server.isKnown).toBe(true)
  },
)

it('is not behind what has happened, and not set back by what is old', async () => {
  const clock = fakeClock()
  const server = new ServerClock(clock)
  await server.ask(() => Promise.resolve({ now: clock.now() }))
  server.heard(clock.now() - 5000)
  expect(server.now()).toBe(clock.now())
  server.heard(clock.now() + 5000)
  expect(server.now()).toBe(clock.now() + 5000)
})
