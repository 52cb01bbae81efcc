import { useEffect } from 'react'
import { base } from './base.js'

/** Shows the number of waiting requests in the title and the icon of the browser tab. */
export function useTabCount(count: number): void {
  useEffect(() => {
    document.title = count > 0 ? `(${count}) Askback` : 'Askback'
    document.querySelector('link[rel="icon"]')?.setAttribute('href', count > 0 ? icons.waiting : icons.idle)
  }, [count])
}

export const icons = { idle: `${base}icon.svg`, waiting: `${base}icon-waiting.svg` }
