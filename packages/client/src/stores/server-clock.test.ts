import { fakeClock } from '@askback/protocol/testing'
import { expect, it } from 'vitest'
import { ServerClock, timeLeft } from './server-clock.js'

it('is the local clock until something is known about the server', () => {
  const clock = fakeClock()
  expect(new ServerClock(clock).now()).toBe(clock.now())
})

it.each([-3_600_000, 900_000])(
  'is set by the time of an event, %i ms from the local clock, until the server is asked',
  async (ahead) => {
    const clock = fakeClock()
    const server = new ServerClock(clock)
    server.observe(clock.now() + ahead)
    expect(server.now()).toBe(clock.now() + ahead)
    expect(server.isKnown).toBe(false)
    await server.setBy(() => Promise.resolve({ now: clock.now() + ahead + 7 }))
    expect(server.now()).toBe(clock.now() + ahead + 7)
    expect(server.isKnown).toBe(true)
  },
)

it('is moved forward by a later event, and not back by an older one', async () => {
  const clock = fakeClock()
  const server = new ServerClock(clock)
  await server.setBy(() => Promise.resolve({ now: clock.now() }))
  server.observe(clock.now() - 5000)
  expect(server.now()).toBe(clock.now())
  server.observe(clock.now() + 5000)
  expect(server.now()).toBe(clock.now() + 5000)
})

const pending = { status: 'pending', requestedAt: 1000, expiresAt: 61_000 } as const

it.each([
  ['is all of it for a new interaction', pending, 1000, 60_000],
  ['is what remains', pending, 31_000, 30_000],
  ['is never negative', pending, 99_000, 0],
  ['is never more than it was given, if the clock is behind', pending, 0, 60_000],
  ['is null without a deadline', { status: 'pending', requestedAt: 1000 } as const, 2000, null],
  ['is null once it is settled', { ...pending, status: 'settled' } as const, 2000, null],
])('the time left %s', (_name, interaction, now, left) => {
  expect(timeLeft(interaction, now)).toBe(left)
})
