import { afterEach, beforeEach, describe } from 'vitest'
import { callsConform } from './conformance-calls.js'
import { errorsConform } from './conformance-errors.js'
import { faultsConform } from './conformance-faults.js'
import { streamsConform } from './conformance-streams.js'
import type { ConformanceSubject, SetUp } from './conformance-subject.js'
import { fakeClock, type FakeClock } from './fake-clock.js'

/** What every transport does, so that nobody can tell which one it is. `isReliable` says that nothing can get lost on it. */
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
        if (!faults) throw new Error(`${name} says how it fails, or that it is reliable.`)
        return { ...subject, faults }
      },
      () => clock,
    )
  })
}
