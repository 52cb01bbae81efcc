import { existsSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * The transcript of the session with this id, in the folders of Claude Code and Codex. Returns `named` itself if it is the
 * path of a file, or if there is no such session.
 *
 * @example
 * findTranscript('0199a213-81c0-7800-8aa1-bbab2a035a53', process.env)
 */
export function findTranscript(named: string, env: Readonly<Record<string, string | undefined>>): string {
  if (existsSync(named) || !/^[\w-]{8,100}$/.test(named)) return named
  const home = env['HOME'] || homedir()
  const places = [
    { folder: join(env['CLAUDE_CONFIG_DIR'] || join(home, '.claude'), 'projects'), depth: 1 },
    { folder: join(env['CODEX_HOME'] || join(home, '.codex'), 'sessions'), depth: 3 },
  ]
  // Claude Code names the file by the id alone, Codex puts the time before it.
  const isMeant = (name: string) => name === `${named}.jsonl` || name.endsWith(`-${named}.jsonl`)
  for (const { folder, depth } of places) {
    const found = findIn(folder, depth, isMeant)
    if (found !== null) return found
  }
  return named
}

function findIn(folder: string, depth: number, isMeant: (name: string) => boolean): string | null {
  let entries
  try {
    entries = readdirSync(folder, { withFileTypes: true })
  } catch {
    // The agent was never used here.
    return null
  }
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isFile() && isMeant(entry.name)) return path
    const below = entry.isDirectory() && depth > 0 ? findIn(path, depth - 1, isMeant) : null
    if (below !== null) return below
  }
  return null
}
