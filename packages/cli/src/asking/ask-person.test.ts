import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { abortOnSignals } from './ask-person.js'

/** A process that can exit without ending the tests. */
class FakeProcess extends EventEmitter {
  readonly exit = vi.fn<(code: number) => void>()
}

let fakeProcess: FakeProcess
let signal: AbortSignal
beforeEach(() => {
  vi.useFakeTimers()
  fakeProcess = new FakeProcess()
  signal = abortOnSignals(fakeProcess)
})
afterEach(() => void vi.useRealTimers())

it('the first signal aborts and does not end the process', () => {
  expect(signal.aborted).toBe(false)
  fakeProcess.emit('SIGTERM')
  expect(signal.aborted).toBe(true)
  vi.advanceTimersByTime(60_000)
  expect(fakeProcess.exit).not.toHaveBeenCalled()
})

it('[L10] a second signal ends the process, but only after two seconds in which the request can be cancelled', () => {
  fakeProcess.emit('SIGINT')
  vi.advanceTimersByTime(500)
  fakeProcess.emit('SIGTERM')
  vi.advanceTimersByTime(1499)
  expect(fakeProcess.exit).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(fakeProcess.exit).toHaveBeenCalledWith(130)
})

it('a second signal after those two seconds ends the process at once', () => {
  fakeProcess.emit('SIGINT')
  vi.advanceTimersByTime(5000)
  fakeProcess.emit('SIGINT')
  expect(fakeProcess.exit).toHaveBeenCalledWith(130)
})
