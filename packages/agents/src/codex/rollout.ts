import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A line of the file in which Codex writes down a thread. */
export interface RolloutLine {
  timestamp?: string
  type: string
  payload: Record<string, unknown>
}

/** Where Codex has written down this thread; `null` if it has not. */
export async function findRollout(codexHome: string, threadId: string): Promise<string | null> {
  const sessions = join(codexHome, 'sessions')
  const names = await readdir(sessions, { recursive: true }).catch(() => [])
  const found = names.find((name) => name.endsWith(`-${threadId}.jsonl`))
  return found === undefined ? null : join(sessions, found)
}

/** Its lines; one that is being written is left for later. */
export async function readRollout(path: string): Promise<RolloutLine[]> {
  return rolloutLines(await readFile(path, 'utf8').catch(() => ''))
}

function rolloutLines(text: string): RolloutLine[] {
  return text.split('\n').flatMap((line) => {
    try {
      const value = JSON.parse(line) as RolloutLine
      return typeof value.type === 'string' && typeof value.payload === 'object' ? [value] : []
    } catch {
      return []
    }
  })
}

/** The command line in the arguments of a tool that runs one. */
export function commandIn(payload: Record<string, unknown>): string | null {
  const { arguments: given, type } = payload
  if (type !== 'function_call' || typeof given !== 'string') return null
  try {
    const { cmd, command } = JSON.parse(given) as { cmd?: unknown; command?: unknown }
    if (typeof cmd === 'string') return cmd
    if (typeof command === 'string') return command
    return Array.isArray(command) ? command.join(' ') : null
  } catch {
    return null
  }
}
