import type { OutboxStorage } from '@askback/client'

const PREFIX = 'askback.'

/**
 * `localStorage` with a prefix, for drafts and other conveniences. Storage may be full, forbidden or missing: reads
 * then return nothing and writes do nothing, so what was to be stored lasts only as long as the page.
 */
export const browserStorage = {
  read(key: string): string | null {
    try {
      return localStorage.getItem(PREFIX + key)
    } catch {
      return null
    }
  },

  /** Stores `value`, or removes the entry if it is `null`. */
  write(key: string, value: string | null): void {
    try {
      if (value === null) localStorage.removeItem(PREFIX + key)
      else localStorage.setItem(PREFIX + key, value)
    } catch {
      // Storage is full or forbidden, which callers need not know: see above.
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

/** One entry for each answer that is not sent yet, so that two windows do not overwrite each other's answers. */
export const outboxStorage: OutboxStorage = {
  read: () =>
    browserStorage
      .keys()
      .flatMap((key) => (key.startsWith('outbox.') ? (browserStorage.read(key) ?? []) : [])),
  write: (interactionId, value) => browserStorage.write(`outbox.${interactionId}`, value),
}
