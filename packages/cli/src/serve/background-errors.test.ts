import { AskbackError } from '@askback/protocol'
import { expect, it } from 'vitest'
import { fakeClock } from '@askback/core/testing'
import { BackgroundErrors } from './background-errors.js'

const unreachable = () => new AskbackError('unavailable', 'The database cannot be reached.')

function logged() {
  const clock = fakeClock()
  const errors = new BackgroundErrors(clock)
  const lines: string[] = []
  const start = () =>
    errors.sendTo({
      failed: (error) => lines.push((error as Error).message),
      recovered: ({ failures, ms }) => lines.push(`back after ${ms} ms, ${failures} more`),
    })
  return { clock, errors, lines, start }
}

it('an outage of the store is logged once when it begins and once when it ends', () => {
  const { clock, errors, lines, start } = logged()
  start()
  for (let second = 0; second <= 60; second += 2) {
    errors.report(unreachable())
    clock.advance(2000)
  }
  expect(lines).toEqual(['The database cannot be reached.'])
  clock.advance(15_000)
  expect(lines).toEqual(['The database cannot be reached.', 'back after 60000 ms, 30 more'])
  errors.report(unreachable())
  expect(lines).toHaveLength(3)
})

it('other errors are logged each time, also during an outage', () => {
  const { errors, lines, start } = logged()
  errors.report(new Error('early'))
  expect(lines).toEqual([])
  start()
  errors.report(unreachable())
  errors.report(new Error('one'))
  errors.report(new Error('one'))
  expect(lines).toEqual(['early', 'The database cannot be reached.', 'one', 'one'])
})

it('a single failure needs no second line', () => {
  const { clock, errors, lines, start } = logged()
  start()
  errors.report(unreachable())
  clock.advance(60_000)
  expect(lines).toEqual(['The database cannot be reached.'])
})
