import type { Reported } from '@askback/core'
import { problem } from '../session/peer-agent.js'

/** What went wrong, in the program's words, and what to do about it where that is known. */
export function trouble(said: string | undefined): Reported {
  const why = said || 'Codex failed.'
  if (!/\b401\b/.test(why)) return problem(why)
  return problem(`Codex was refused by its model: log in with codex login, or set a key that works. ${why}`)
}
