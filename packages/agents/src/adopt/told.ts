import type { AdoptedItem } from '@askback/protocol'

/** A line of what an agent has written down. */
export type Line = Record<string, unknown>

/** What it tells of the session, and what happened. */
export interface Told {
  agentSessionId?: string
  cwd?: string
  /** Of the line itself: one that is there twice counts once. */
  id?: string
  items: AdoptedItem[]
}
