import { useEffect } from 'react'
import { icons } from './icon.js'

/** The tab's title and icon carry how much waits. */
export function useTabCount(count: number): void {
  useEffect(() => {
    document.title = count > 0 ? `(${count}) Askback` : 'Askback'
    document.querySelector('link[rel="icon"]')?.setAttribute('href', count > 0 ? icons.waiting : icons.calm)
  }, [count])
}
