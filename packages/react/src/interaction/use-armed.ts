import { useEffect, useState } from 'react'

/** Within this nobody has seen what came. */
export const ARM_MS = 300

/** A control that has just appeared under somebody's finger does nothing yet; the same after a return to the window. */
export function useArmed(): boolean {
  const [isArmed, setArmed] = useState(false)

  useEffect(() => {
    let timer = setTimeout(() => setArmed(true), ARM_MS)
    const again = () => {
      clearTimeout(timer)
      setArmed(false)
      timer = setTimeout(() => setArmed(true), ARM_MS)
    }
    window.addEventListener('focus', again)
    return () => {
      clearTimeout(timer)
      window.removeEventListener('focus', again)
    }
  }, [])

  return isArmed
}
