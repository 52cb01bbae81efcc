import { AskbackError } from '@askback/protocol'
import type { Feed } from './feed.js'

/** Whether the cursor is a place in this log; if not, its owner must take a new snapshot. */
export async function findPlace(feed: Feed, cursor: number, log: unknown): Promise<boolean> {
  if (!(await feed.opened)) throw new AskbackError('not_found', `There is no session ${feed.sessionId}.`)
  return (log === undefined || log === feed.logId) && (await feed.reaches(cursor))
}
