import type { Settlement } from '@askback/core'

/** Settled without a yes. */
export type Refused = Extract<
  Settlement<unknown>,
  { settlement: 'denied' | 'cancelled' | 'timed_out' | 'superseded' }
>

/** What the model is told: which of the four it was, and that it must not take it for an answer. */
export function refusalOf(
  settled: { settlement: Refused['settlement']; message?: string | undefined },
  what: string,
): string {
  switch (settled.settlement) {
    case 'denied':
      return settled.message === undefined
        ? `The user denied ${what}. Do not try the same again; ask what to do instead, or go on without it.`
        : `The user denied ${what}, and says: ${settled.message}`
    case 'cancelled':
      return `${capital(what)} was cancelled before anybody answered. That is not an answer: do not assume one.`
    case 'timed_out':
      return `Nobody answered in time, so ${what} counts as denied. That is not an answer: do not assume one.`
    case 'superseded':
      return `${capital(what)} was replaced by a later request.`
  }
}

export function planChange(message: string | undefined): string {
  return `The user wants the plan changed: ${message ?? ''}`
}

export const IN_DOUBT =
  'This call was approved, but the approval had been handed over before, so it may have run already, in full or in part. ' +
  'It is not run again. Check what it did before you go on.'

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
