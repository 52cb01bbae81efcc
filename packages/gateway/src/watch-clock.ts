import type { SharedClock } from '@askback/core'

/** From here on people are told. */
const MAX_SKEW_MS = 1000
/** It is over only when it is clearly less, so that a clock at the border is not reported again and again. */
const AGREES_MS = 900

/** Says when the clock of this machine begins to differ from the store's, and when it agrees again. */
export function watchClock(clock: SharedClock, warn: (details: object, message: string) => void): () => void {
  let differs = false
  const look = () => {
    const { skewMs, errorMs } = clock
    const skew = Math.abs(skewMs)
    const limit = differs ? AGREES_MS : MAX_SKEW_MS + errorMs
    if (skew > limit === differs) return
    differs = !differs
    const details = { clockOffsetSeconds: skewMs / 1000 }
    if (differs) {
      const how = `${(skew / 1000).toFixed(1)} s ${skewMs > 0 ? 'ahead of' : 'behind'} the database’s`
      warn(details, `The clock of this machine is ${how}. Deadlines go by the database; set this clock.`)
    } else warn(details, 'The clock of this machine agrees with the database’s again.')
  }
  look()
  return clock.onMeasured(look)
}
