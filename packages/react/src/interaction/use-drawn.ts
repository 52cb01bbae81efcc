import { useEffect, useState } from 'react'

/** Whether the card was there before: a field that opens in it then was asked for, and takes the focus. */
export function useDrawn(): boolean {
  const [isDrawn, setDrawn] = useState(false)
  useEffect(() => setDrawn(true), [])
  return isDrawn
}
