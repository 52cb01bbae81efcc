import { useState } from 'react'

/** Runs what a control asks for, and keeps what went wrong until the next time. */
export function useCall(): {
  call: (action: () => Promise<unknown>) => void
  error: string | null
  isBusy: boolean
} {
  const [error, setError] = useState<string | null>(null)
  const [isBusy, setBusy] = useState(false)
  const call = (action: () => Promise<unknown>) => {
    setError(null)
    setBusy(true)
    action()
      .catch((caught: unknown) => setError(caught instanceof Error ? caught.message : String(caught)))
      .finally(() => setBusy(false))
  }
  return { call, error, isBusy }
}
