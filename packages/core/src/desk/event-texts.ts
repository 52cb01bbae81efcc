import type { SessionEvent } from '@askback/protocol'

const textsByEvents = new WeakMap<readonly SessionEvent[], string[]>()

/** The texts of `eventTexts`, if they were made before. */
export function knownTexts(events: readonly SessionEvent[]): string[] | undefined {
  return textsByEvents.get(events)
}

/** The events of an append as JSON. Made on first use, once for the store and all streams. */
export function eventTexts(events: readonly SessionEvent[]): string[] {
  const known = textsByEvents.get(events)
  if (known) return known
  const texts = events.map((event) => JSON.stringify(event))
  textsByEvents.set(events, texts)
  return texts
}
