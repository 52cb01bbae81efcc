/** Time for a gateway to hear that what was asked is cancelled. */
const GRACE_MS = 2000
/** The exit code of a command that Ctrl-C ends. */
export const STOPPED = 130

/** The process, or what stands for it. */
interface Stoppable {
  on(signal: NodeJS.Signals, listener: () => void): unknown
  exit(code: number): void
}

/**
 * Aborts with the first signal that asks the process to end; another one ends it, once what the first has begun had its
 * time. Those who stop a command often send two at once.
 */
export function abortOnSignals(stoppable: Stoppable = process): AbortSignal {
  const ended = new AbortController()
  let graceOver = Infinity
  const stop = () => {
    if (!ended.signal.aborted) {
      graceOver = performance.now() + GRACE_MS
      ended.abort()
      return
    }
    const left = graceOver - performance.now()
    if (left <= 0) stoppable.exit(STOPPED)
    // A process that is done by then is not kept.
    else setTimeout(() => stoppable.exit(STOPPED), left).unref()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) stoppable.on(signal, stop)
  return ended.signal
}
