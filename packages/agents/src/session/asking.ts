import type { AskOptions, Clock, Settlement } from '@askback/core'

/** A cancelled request is often the first half of an interrupt, whose second half follows at once. */
export const INTERRUPT_MS = 1000

/** One tool call that waits for a person. */
export interface Asking {
  options: AskOptions & { signal: AbortSignal }
  /**
   * Holds a cancelled call back until the interrupt reaches the agent: a refusal that came first would make it talk to
   * its model once more.
   */
  settled(settlement: Settlement<unknown>): Promise<void>
}

export function asking(options: Asking['options'], clock: Clock): Asking {
  return {
    options,
    async settled({ settlement }) {
      if (settlement === 'cancelled') await pause(clock, INTERRUPT_MS, options.signal)
      options.signal.throwIfAborted()
    },
  }
}

/** Ends early, without a word, when the signal aborts. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = () => {
      disarm()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const disarm = clock.alarm(clock.now() + ms, end)
    signal.addEventListener('abort', end, { once: true })
  })
}
