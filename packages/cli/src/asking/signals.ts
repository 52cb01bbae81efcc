/** Aborts with the first signal that asks the process to end; the second ends it at once. */
export function abortOnSignals(): AbortSignal {
  const ended = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (ended.signal.aborted) process.exit(130)
      ended.abort()
    })
  }
  return ended.signal
}
