import type { SessionEvent } from '@askback/protocol'

const made = new WeakMap<readonly SessionEvent[], string[]>()

/** The same, if they have been made. */
export function knownTexts(events: readonly SessionEvent[]): string[] | undefined {
  return made.get(events)
}

/** The events of an append as JSON: made when they are first wanted, and once for the store and everyone who is told. */
export function eventTexts(events: readonly SessionEvent[]): string[] {
  const known = made.get(events)
  if (known) return known
  const texts = events.map((event) => JSON.stringify(event))
  made.set(events, texts)
  return texts
}
