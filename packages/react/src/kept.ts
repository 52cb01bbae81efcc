const PREFIX = 'askback.'

/** `localStorage` that may be full, forbidden or missing: what is kept there is a convenience, never the truth. */
export const kept = {
  read(key: string): string | null {
    try {
      return localStorage.getItem(PREFIX + key)
    } catch {
      return null
    }
  },

  write(key: string, value: string | null): void {
    try {
      if (value === null) localStorage.removeItem(PREFIX + key)
      else localStorage.setItem(PREFIX + key, value)
    } catch {
      // Full or forbidden: it lasts as long as the page.
    }
  },

  keys(): string[] {
    try {
      return Object.keys(localStorage).flatMap((key) =>
        key.startsWith(PREFIX) ? [key.slice(PREFIX.length)] : [],
      )
    } catch {
      return []
    }
  },
}
