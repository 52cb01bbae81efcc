import { AskbackError, type AdoptBody, type AdoptedItem } from '@askback/protocol'
import { claudeLine } from './claude.js'
import { codexLine } from './codex.js'
import type { Line, Told } from './told.js'

const TITLE = 60
const FORMATS: { agent: string; read: (line: Line) => Told; knows: (line: Line) => boolean }[] = [
  { agent: 'codex', read: codexLine, knows: ({ type }) => type === 'session_meta' },
  {
    agent: 'claude',
    read: claudeLine,
    knows: ({ type, sessionId }) =>
      typeof sessionId === 'string' && (type === 'user' || type === 'assistant'),
  },
]

/** Reads what an agent has written down, line by line: a transcript of Claude Code, or a rollout of Codex. */
export class HistoryReader {
  readonly #items: AdoptedItem[] = []
  readonly #seen = new Set<string>()
  #format: (typeof FORMATS)[number] | undefined
  #agentSessionId: string | undefined
  #cwd: string | undefined
  #unread = 0
  #lastIsUnread = false

  /** Lines that are no JSON, but for the last: an agent that was stopped, or still runs, leaves that unfinished. */
  get unread(): number {
    return this.#unread - (this.#lastIsUnread ? 1 : 0)
  }

  add(text: string): void {
    if (text.trim() === '') return
    const line = objectIn(text)
    this.#lastIsUnread = line === null
    if (line === null) this.#unread += 1
    else this.#take(line)
  }

  #take(line: Line): void {
    this.#format ??= FORMATS.find(({ knows }) => knows(line))
    if (!this.#format) return
    const { agentSessionId, cwd, id, items } = this.#format.read(line)
    if (id !== undefined && this.#seen.has(id)) return
    if (id !== undefined) this.#seen.add(id)
    // A thread that was made out of another names that one, too, after itself.
    if (this.#format.agent === 'claude' || this.#agentSessionId === undefined)
      this.#agentSessionId = agentSessionId ?? this.#agentSessionId
    this.#cwd ??= cwd
    for (const item of items) if (!isEcho(item, this.#items.at(-1))) this.#items.push(item)
  }

  history(): AdoptBody {
    if (!this.#format || this.#agentSessionId === undefined)
      throw new AskbackError(
        'invalid_request',
        'That is neither a transcript of Claude Code nor a rollout of Codex.',
      )
    const said = this.#items.find((item) => item.type === 'user_message')
    return {
      agent: this.#format.agent,
      agentSessionId: this.#agentSessionId,
      ...(this.#cwd !== undefined && { cwd: this.#cwd }),
      ...(said?.type === 'user_message' && { title: titleOf(said.text) }),
      items: this.#items,
    }
  }
}

/** Codex tells some messages twice, in two ways. */
function isEcho(item: AdoptedItem, last: AdoptedItem | undefined): boolean {
  return item.type === 'user_message' && last?.type === 'user_message' && item.text === last.text
}

function titleOf(text: string): string {
  const line = text.trim().replaceAll(/\s+/gu, ' ')
  return line.length > TITLE ? `${line.slice(0, TITLE - 1).toWellFormed()}…` : line
}

function objectIn(text: string): Line | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Line) : null
  } catch {
    return null
  }
}
