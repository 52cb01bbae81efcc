import { existsSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** The file itself, or what Claude Code or Codex has written of the session with that id. */
export function findTranscript(named: string, env: NodeJS.ProcessEnv): string {
  if (existsSync(named) || !/^[\w-]{8,100}$/.test(named)) return named
  const home = env['HOME'] || homedir()
  const places = [
    { folder: join(env['CLAUDE_CONFIG_DIR'] || join(home, '.claude'), 'projects'), depth: 1 },
    { folder: join(env['CODEX_HOME'] || join(home, '.codex'), 'sessions'), depth: 3 },
  ]
  for (const { folder, depth } of places) {
    const found = findIn(
      folder,
      depth,
      (name) => name === `${named}.jsonl` || name.endsWith(`-${named}.jsonl`),
    )
    if (found !== null) return found
  }
  return named
}

function findIn(folder: string, depth: number, isIt: (name: string) => boolean): string | null {
  let entries
  try {
    entries = readdirSync(folder, { withFileTypes: true })
  } catch {
    return null
  }
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isFile() && isIt(entry.name)) return path
    const below = entry.isDirectory() && depth > 0 ? findIn(path, depth - 1, isIt) : null
    if (below !== null) return below
  }
  return null
}
