import { useEffect, useState } from 'react'

const TOLD_MS = 1500

export function useCopy(text: string): { hasCopied: boolean; copy: () => void } {
  const [hasCopied, setCopied] = useState(false)

  useEffect(() => {
    if (!hasCopied) return
    const timer = setTimeout(() => setCopied(false), TOLD_MS)
    return () => clearTimeout(timer)
  }, [hasCopied])

  return {
    hasCopied,
    copy: () => {
      // Refused where the page is not in front: then nothing is copied, and nothing says so.
      navigator.clipboard.writeText(text).then(
        () => setCopied(true),
        () => undefined,
      )
    },
  }
}
