import { createContext, use, useCallback, useEffect, useState } from 'react'

type Enter = () => () => void

const CutOffContext = createContext<Enter>(() => () => undefined)

/** Around what somebody decides on, to know whether any of it is not drawn yet. */
export const CutOff = CutOffContext.Provider

export function useCutOff(): { isWhole: boolean; enter: Enter } {
  const [parts, setParts] = useState(0)
  const enter = useCallback(() => {
    setParts((count) => count + 1)
    return () => setParts((count) => count - 1)
  }, [])
  return { isWhole: parts === 0, enter }
}

/** Told by whatever draws only the beginning of something. */
export function useTellCutOff(isCutOff: boolean): void {
  const enter = use(CutOffContext)
  useEffect(() => (isCutOff ? enter() : undefined), [isCutOff, enter])
}
