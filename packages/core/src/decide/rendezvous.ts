import { CALL_FORGOTTEN_MS, isShellTool, type Json } from '@askback/protocol'

/** How long an interaction that names no tool call waits for one to be recorded. */
export const RENDEZVOUS_WAIT_MS = 1000
/** A score that names tool and operation: sure enough to end the wait. */
const SURE = 3
/** More text than this is no command line, and must not cost a scan for every interaction. */
const MAX_SCANNED = 100_000

export interface RecordedCall {
  toolCallId: string
  toolName: string
  input: Json
  at: number
  endedAt?: number
}

export interface Choice {
  toolCallId: string
  /** 0 for the shell fallback. */
  score: number
}

/**
 * The recorded call that an interaction of `toolName` belongs to. `calls` in the order of the log; `final` at the end
 * of the wait. `'wait'`: look again when a call is recorded or the wait is over. `null`: it stands for itself.
 */
export function chooseCall(options: {
  calls: readonly RecordedCall[]
  claimed: ReadonlySet<string>
  toolName: string
  now: number
  final: boolean
}): Choice | 'wait' | null {
  const { claimed, toolName, now, final } = options
  const free = options.calls.filter((call) => !claimed.has(call.toolCallId) && !isForgotten(call, now))
  let best: Choice | null = null
  for (const call of free) {
    const score = scoreCall(toolName, call)
    if (score > (best?.score ?? 0)) best = { toolCallId: call.toolCallId, score }
  }
  if (best && (final || best.score >= SURE)) return best
  if (!final) return 'wait'
  const shell = free.findLast((call) => isShellTool(call.toolName))
  return shell ? { toolCallId: shell.toolCallId, score: 0 } : null
}

/** How much of `toolName` the call's name and arguments mention: 3 for both in one token, 2 for the tool, 1 for the operation. */
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

/** Whole tokens in lower case: runs of letters, digits, `_` and `-`, and their parts between those. */
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

/** The name and every string among the arguments, up to a bound. */
function textOf(call: { toolName: string; input: Json }): string {
  const parts = [call.toolName]
  const rest: Json[] = [call.input]
  for (let left = MAX_SCANNED; rest.length > 0 && left > 0; left -= 1) {
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

/** The first part of a text, without the token that the cut would go through: a piece of a token is none. */
function wholeTokens(text: string, length: number): string {
  let end = length
  while (end > 0 && /\S/.test(text[end - 1]!)) end -= 1
  return text.slice(0, end)
}
