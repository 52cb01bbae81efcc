import { expect, it } from 'vitest'
import { fakeClock } from './fake-clock.js'

it('rings in the order of the times, each at its own, and what an alarm sets on the way as well', () => {
  const clock = fakeClock(0)
  const rung: [string, number][] = []
  const set = (name: string, at: number) => clock.alarm(at, () => rung.push([name, clock.now()]))
  set('late', 30)
  set('early', 10)
  set('second at the same time', 30)
  clock.alarm(20, () => set('set on the way', 25))
  clock.advance(29)
  expect(rung).toEqual([
    ['early', 10],
    ['set on the way', 25],
  ])
  expect(clock.now()).toBe(29)
  clock.advance(1)
  expect(rung.slice(2).map(([name]) => name)).toEqual(['late', 'second at the same time'])
  expect(clock.armed).toBe(0)
})

it('does not ring what was cancelled, nor on a jump before time is moved on', () => {
  const clock = fakeClock(0)
  const rung: string[] = []
  clock.alarm(10, () => rung.push('cancelled'))()
  clock.alarm(10, () => rung.push('kept'))
  clock.jump(20)
  expect(rung).toEqual([])
  clock.advance(0)
  expect(rung).toEqual(['kept'])
  expect(clock.now()).toBe(20)
})
