import { CALL_FORGOTTEN_MS, isShellTool, type Json } from '@askback/protocol'

// Finds the tool call that an interaction belongs to when the caller, a script that the agent runs, cannot name it.

/** How long an interaction that names no tool call waits for a matching call to be recorded, in milliseconds. */
export const RENDEZVOUS_WAIT_MS = 1000
/** The score of a call that names both tool and operation: the wait ends with it. */
export const SURE_SCORE = 3
/** Limit of the characters that are searched per call; a longer text is not a command line. */
const MAX_SCANNED_CHARACTERS = 100_000

export interface RecordedCall {
  toolCallId: string
  toolName: string
  input: Json
  at: number
  endedAt?: number
}

export interface MatchedCall {
  toolCallId: string
  /** 0 for the last shell call, the fallback. */
  score: number
}

/**
 * The recorded call that an interaction with `toolName` belongs to. `calls` are in the order of the log; `final` is true when the
 * wait is over. Returns `'wait'` to be called again when a call is recorded or the wait is over, and `null` if the interaction has no call.
 */
export function chooseCall(options: {
  calls: readonly RecordedCall[]
  claimed: ReadonlySet<string>
  toolName: string
  now: number
  final: boolean
}): MatchedCall | 'wait' | null {
  const { claimed, toolName, now, final } = options
  const free = options.calls.filter((call) => !claimed.has(call.toolCallId) && !isForgotten(call, now))
  let best: MatchedCall | null = null
  for (const call of free) {
    const score = scoreCall(toolName, call)
    if (score > (best?.score ?? 0)) best = { toolCallId: call.toolCallId, score }
  }
  if (best && (final || best.score >= SURE_SCORE)) return best
  if (!final) return 'wait'
  const shell = free.findLast((call) => isShellTool(call.toolName))
  return shell ? { toolCallId: shell.toolCallId, score: 0 } : null
}

/** How much of `toolName` the call's name and input mention: 3 for tool and operation in one token, 2 for the tool, 1 for the operation. */
export function scoreCall(toolName: string, call: { toolName: string; input: Json }): number {
  const [, tool = '', operation = ''] = /^([^_.]*)[_.]?(.*)$/su.exec(toolName.toLowerCase()) ?? []
  const tokens = tokensOf(textOf(call))
  let score = 0
  if (tool && operation && (tokens.has(`${tool}_${operation}`) || tokens.has(`${tool}-${operation}`)))
    score += 3
  if (tool && tokens.has(tool)) score += 2
  if (operation && tokens.has(operation)) score += 1
  return score
}

/** The tokens of a text in lower case: runs of letters, digits, `_` and `-`, and the parts between `_` and `-`. */
export function tokensOf(text: string): Set<string> {
  const tokens = new Set<string>()
  for (const [run] of text.toLowerCase().matchAll(/[\p{L}\p{N}_-]+/gu)) {
    tokens.add(run)
    for (const part of run.split(/[_-]/)) if (part) tokens.add(part)
  }
  return tokens
}

function isForgotten(call: RecordedCall, now: number): boolean {
  return call.endedAt !== undefined && now - call.endedAt >= CALL_FORGOTTEN_MS
}

/** The call's name and every string of its input, up to the limit. */
function textOf(call: { toolName: string; input: Json }): string {
  const parts = [call.toolName]
  const rest: Json[] = [call.input]
  for (let left = MAX_SCANNED_CHARACTERS; rest.length > 0 && left > 0; left -= 1) {
    const value = rest.pop()!
    if (typeof value === 'string') {
      parts.push(value.length > left ? wholeTokens(value, left) : value)
      left -= value.length
    } else if (typeof value === 'object' && value !== null) {
      for (const item of Object.values(value).toReversed()) rest.push(item)
    }
  }
  return parts.join(' ')
}

/** The first part of a text, without the token that the cut would divide. */
function wholeTokens(text: string, length: number): string {
  let end = length
  while (end > 0 && /\S/.test(text[end - 1]!)) end -= 1
  return text.slice(0, end)
}
