import type { LiveEvent, SessionEvent } from '@askback/protocol'

/** How events look on one kind of wire. What it makes is written to sockets as it is, and never changed. */
export interface Encoding {
  /** One frame each, in one piece. `texts` are the events as JSON. */
  events(events: SessionEvent[], texts: string[]): Buffer
  /** Without a place in the log. */
  live(sessionId: string, event: LiveEvent): Buffer
  /** The reader's cursor is of no use: it takes a new snapshot. */
  resync(sessionId: string): Buffer
}
