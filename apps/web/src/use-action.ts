import { useCallback, useState } from 'react'
import { errorMessage } from '@askback/protocol'

/**
 * Runs what a button does, says whether it is still running, and keeps the message of its error until the next run. One
 * for each place that shows the error.
 */
export function useAction(): {
  run: (action: () => Promise<unknown>) => void
  error: string | null
  isBusy: boolean
} {
  const [error, setError] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const run = useCallback((action: () => Promise<unknown>) => {
    setError(null)
    setBusy(true)
    action()
      .catch((caught: unknown) => setError(errorMessage(caught)))
      .finally(() => setBusy(false))
  }, [])
  return { run, error, isBusy }
}
