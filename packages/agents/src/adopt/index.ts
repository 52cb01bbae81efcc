import type { AdoptBody } from '@askback/protocol'
import { HistoryReader } from './history.js'

export { HistoryReader }

/** What an agent that was started elsewhere has written down. */
export function historyIn(text: string): AdoptBody {
  const reader = new HistoryReader()
  for (const line of text.split('\n')) reader.add(line)
  return reader.history()
}
