import { expect, it } from 'vitest'
import { Coverage } from './seen-tracker.js'

function coverageOf(height: number): Coverage {
  const coverage = new Coverage()
  coverage.resize(500, height)
  return coverage
}

it('is complete once every pixel was seen, in any order', () => {
  const coverage = coverageOf(900)
  coverage.add(600, 900)
  coverage.add(0, 300)
  expect(coverage.gaps()).toEqual([{ from: 300, to: 600 }])
  expect(coverage.isComplete).toBe(false)
  coverage.add(250, 650)
  expect(coverage.isComplete).toBe(true)
})

it('is not complete with only the beginning and the end', () => {
  const coverage = coverageOf(900)
  coverage.add(0, 16)
  coverage.add(884, 900)
  expect(coverage.isComplete).toBe(false)
})

it('is never complete without a height', () => {
  const coverage = coverageOf(0)
  coverage.add(0, 0)
  expect(coverage.isComplete).toBe(false)
})

it('starts over after a layout change, unless it was complete', () => {
  const half = coverageOf(900)
  half.add(0, 450)
  half.resize(300, 1500)
  expect(half.gaps()).toEqual([{ from: 0, to: 1500 }])
  const whole = coverageOf(900)
  whole.add(0, 900)
  whole.resize(300, 1500)
  expect(whole.isComplete).toBe(true)
})

it('tolerates a rounding error, but no missing line', () => {
  const coverage = coverageOf(100.6)
  coverage.add(0, 50)
  coverage.add(51, 100)
  expect(coverage.isComplete).toBe(true)
  const line = coverageOf(100)
  line.add(0, 88)
  expect(line.isComplete).toBe(false)
})
