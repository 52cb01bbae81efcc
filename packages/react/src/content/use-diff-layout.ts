import { useState, useSyncExternalStore } from 'react'
import { kept } from '../kept.js'

export interface DiffLayout {
  isSplit: boolean
  /** `null` where there is no room for two sides. */
  toggle: (() => void) | null
}

/** One text below the other or side by side, as it was last chosen. */
export function useDiffLayout(): DiffLayout {
  const [isWanted, setWanted] = useState(() => kept.read('diff') === 'split')
  const hasRoom = useSyncExternalStore(subscribe, () => wide().matches)
  if (!hasRoom) return { isSplit: false, toggle: null }
  return {
    isSplit: isWanted,
    toggle() {
      setWanted(!isWanted)
      kept.write('diff', isWanted ? null : 'split')
    },
  }
}

function wide(): MediaQueryList {
  return window.matchMedia('(min-width: 48rem)')
}

function subscribe(listener: () => void): () => void {
  const query = wide()
  query.addEventListener('change', listener)
  return () => query.removeEventListener('change', listener)
}
