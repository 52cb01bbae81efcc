import { fakeClock, type FakeClock } from '@askback/protocol/testing'
import { afterEach, beforeEach, describe } from 'vitest'
import { callsConform } from './conformance-calls.js'
import { errorsConform } from './conformance-errors.js'
import { faultsConform } from './conformance-faults.js'
import { streamsConform } from './conformance-streams.js'
import type { ConformanceSubject, SetUp } from './conformance-subject.js'

/**
 * The tests that every transport passes, so that a surface cannot tell which one it uses.
 *
 * @param options.isReliable - set if nothing can get lost on this transport; then the tests with faults are left out
 *
 * @example
 * transportConformance('MyTransport', async ({ clock, random }) => ({
 *   transport: new MyTransport({ clock, random }), other, backend, faults, close,
 * }))
 */
export function transportConformance(name: string, setUp: SetUp, { isReliable = false } = {}): void {
  describe(`${name} as a transport`, () => {
    let clock: FakeClock
    let subject: ConformanceSubject

    beforeEach(async () => {
      clock = fakeClock()
      subject = await setUp({ clock, random: () => 0 })
    })

    afterEach(async () => {
      subject.transport.close()
      subject.other.close()
      await subject.close()
    })

    callsConform(() => subject)
    errorsConform(() => subject)
    streamsConform(() => subject)
    if (isReliable) return
    faultsConform(
      () => {
        const { faults } = subject
        if (!faults) throw new Error(`${name} must have faults, or be reliable.`)
        return { ...subject, faults }
      },
      () => clock,
    )
  })
}
