/**
 * Reads the history of a session that was run by another program, from the file in which its agent has recorded it. The result
 * is what `POST /api/sessions/adopt` and `desk.adopt` accept, so this is all that adoption has to know about agents' files.
 */
import { AskbackError, type AdoptBody, type AdoptedItem } from '@askback/protocol'
import { parseObject } from '../program/ndjson.js'
import { readClaudeLine } from './claude-transcript.js'
import { readCodexLine } from './codex-rollout.js'

/** A line of a transcript, parsed from JSON and otherwise unchecked. */
export type TranscriptLine = Record<string, unknown>

/** What one line says about the session, and what happened in it. */
export interface LineContent {
  agentSessionId?: string
  cwd?: string
  /** The id of the line itself. A line that occurs twice counts once. */
  lineId?: string
  items: AdoptedItem[]
}

interface TranscriptFormat {
  agent: string
  /** Whether the line shows that the file has this format. */
  matches: (line: TranscriptLine) => boolean
  read: (line: TranscriptLine) => LineContent
}

const MAX_TITLE_LENGTH = 60

const FORMATS: TranscriptFormat[] = [
  { agent: 'codex', matches: ({ type }) => type === 'session_meta', read: readCodexLine },
  {
    agent: 'claude',
    matches: ({ type, sessionId }) =>
      typeof sessionId === 'string' && (type === 'user' || type === 'assistant'),
    read: readClaudeLine,
  },
]

/**
 * Reads a whole transcript of Claude Code, or a rollout of Codex. Throws `invalid_request` if the text is neither.
 *
 * @example
 * await desk.as({ by: { id: 'ada' } }).adopt(parseHistory(await readFile(path, 'utf8')))
 */
export function parseHistory(text: string): AdoptBody {
  const reader = new HistoryReader()
  for (const line of text.split('\n')) reader.add(line)
  return reader.history()
}

/**
 * The same line by line, for files that are too long for one string.
 *
 * @example
 * const reader = new HistoryReader()
 * for await (const line of createInterface({ input: createReadStream(path) })) reader.add(line)
 * await desk.as({ by: { id: 'ada' } }).adopt(reader.history())
 */
export class HistoryReader {
  readonly #items: AdoptedItem[] = []
  readonly #seenLines = new Set<string>()
  #format: TranscriptFormat | undefined
  #agentSessionId: string | undefined
  #cwd: string | undefined
  #unread = 0
  #isLastUnread = false

  /** How many lines are no JSON. The last line does not count: an agent that was stopped, or still runs, leaves it unfinished. */
  get unread(): number {
    return this.#unread - (this.#isLastUnread ? 1 : 0)
  }

  /** Adds one line, without its line break. */
  add(text: string): void {
    if (text.trim() === '') return
    const line = parseObject(text)
    this.#isLastUnread = line === null
    if (line === null) this.#unread += 1
    else this.#addLine(line)
  }

  /** Throws `invalid_request` if the lines are neither a transcript of Claude Code nor a rollout of Codex. */
  history(): AdoptBody {
    if (!this.#format || this.#agentSessionId === undefined)
      throw new AskbackError(
        'invalid_request',
        'That is neither a transcript of Claude Code nor a rollout of Codex.',
      )
    const firstMessage = this.#items.find((item) => item.type === 'user_message')
    return {
      agent: this.#format.agent,
      agentSessionId: this.#agentSessionId,
      ...(this.#cwd !== undefined && { cwd: this.#cwd }),
      ...(firstMessage?.type === 'user_message' && { title: titleOf(firstMessage.text) }),
      items: this.#items,
    }
  }

  #addLine(line: TranscriptLine): void {
    this.#format ??= FORMATS.find(({ matches }) => matches(line))
    if (!this.#format) return
    const { agentSessionId, cwd, lineId, items } = this.#format.read(line)
    if (lineId !== undefined && this.#seenLines.has(lineId)) return
    if (lineId !== undefined) this.#seenLines.add(lineId)
    // A session of Claude Code that was resumed continues under its last id. A thread of Codex that was forked names first
    // itself, then its origin.
    if (this.#format.agent === 'claude' || this.#agentSessionId === undefined)
      this.#agentSessionId = agentSessionId ?? this.#agentSessionId
    this.#cwd ??= cwd
    for (const item of items) if (!isRepetition(item, this.#items.at(-1))) this.#items.push(item)
  }
}

/** Codex records some messages twice, in two formats. */
function isRepetition(item: AdoptedItem, last: AdoptedItem | undefined): boolean {
  return item.type === 'user_message' && last?.type === 'user_message' && item.text === last.text
}

function titleOf(text: string): string {
  const line = text.trim().replaceAll(/\s+/gu, ' ')
  return line.length > MAX_TITLE_LENGTH ? `${line.slice(0, MAX_TITLE_LENGTH - 1).toWellFormed()}…` : line
}
