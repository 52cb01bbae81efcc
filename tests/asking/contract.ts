import { describe } from 'vitest'
import { answersConform } from './answers.js'
import { endingsConform } from './endings.js'
import { askingFaultsConform } from './faults.js'
import { keysConform } from './keys.js'
import { askingSessionsConform } from './sessions.js'
import { subjectOfEachTest, type AskingSubject } from './subject.js'

/**
 * The tests that every way to ask passes, so that a program cannot tell whether its desk is near or far.
 *
 * @param options.isReliable - set if nothing can get lost on the way; then the tests with faults are left out
 *
 * @example
 * askingContract('connect({ desk })', async () => ({ askback, restarted, person, backend, rating, faults: null, close }), {
 *   isReliable: true,
 * })
 */
export function askingContract(
  name: string,
  setUp: () => Promise<AskingSubject>,
  { isReliable = false } = {},
): void {
  describe(`asking by ${name}`, () => {
    const subject = subjectOfEachTest(setUp)
    answersConform(subject)
    endingsConform(subject)
    keysConform(subject)
    askingSessionsConform(subject)
    if (!isReliable) askingFaultsConform(subject)
  })
}
