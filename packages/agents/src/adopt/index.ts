import { AskbackError, type AdoptBody } from '@askback/protocol'
import { claudeHistory } from './claude.js'
import { codexHistory } from './codex.js'

const TITLE = 60

/** What an agent that was started elsewhere has written down: a transcript of Claude Code, or a rollout of Codex. */
export function historyIn(text: string): AdoptBody {
  const lines = text.split('\n').flatMap((line): Record<string, unknown>[] => {
    try {
      const value: unknown = JSON.parse(line)
      return typeof value === 'object' && value !== null ? [value as Record<string, unknown>] : []
    } catch {
      return []
    }
  })
  const history = codexHistory(lines) ?? claudeHistory(lines)
  if (!history)
    throw new AskbackError(
      'invalid_request',
      'That is neither a transcript of Claude Code nor a rollout of Codex.',
    )
  const said = history.items.find((item) => item.type === 'user_message')
  return said?.type === 'user_message' ? { title: said.text.trim().slice(0, TITLE), ...history } : history
}
