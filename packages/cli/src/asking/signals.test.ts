import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { abortOnSignals } from './signals.js'

/** A process that can be ended without ending the tests. */
class Stoppable extends EventEmitter {
  readonly exit = vi.fn<(code: number) => void>()
}

let stoppable: Stoppable
let signal: AbortSignal
beforeEach(() => {
  vi.useFakeTimers()
  stoppable = new Stoppable()
  signal = abortOnSignals(stoppable)
})
afterEach(() => void vi.useRealTimers())

it('one signal aborts, and leaves the end to who heeds it', () => {
  expect(signal.aborted).toBe(false)
  stoppable.emit('SIGTERM')
  expect(signal.aborted).toBe(true)
  vi.advanceTimersByTime(60_000)
  expect(stoppable.exit).not.toHaveBeenCalled()
})

it('[L10] another one ends the process, but leaves two seconds to cancel what was asked', () => {
  stoppable.emit('SIGINT')
  vi.advanceTimersByTime(500)
  stoppable.emit('SIGTERM')
  vi.advanceTimersByTime(1499)
  expect(stoppable.exit).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(stoppable.exit).toHaveBeenCalledWith(130)
})

it('another one that comes after that ends the process at once', () => {
  stoppable.emit('SIGINT')
  vi.advanceTimersByTime(5000)
  stoppable.emit('SIGINT')
  expect(stoppable.exit).toHaveBeenCalledWith(130)
})
