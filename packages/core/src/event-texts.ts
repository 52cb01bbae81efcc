import type { SessionEvent } from '@askback/protocol'

/** Each event as JSON: made when it is first wanted, and once for the store and everyone who is told. */
export function eventTexts(events: SessionEvent[]): () => string[] {
  let texts: string[] | undefined
  return () => (texts ??= events.map((event) => JSON.stringify(event)))
}
