import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Whether the agent's program has put this call off and will take it up when it is resumed. Its own record of the
 * conversation is the one place that knows.
 */
export async function isDeferred(
  configFolder: string | null,
  agentSessionId: string | null,
  toolCallId: string,
): Promise<boolean> {
  if (configFolder === null || agentSessionId === null) return false
  const lines = await linesOf(join(configFolder, 'projects'), `${agentSessionId}.jsonl`)
  const about = lines.filter((line) => line.includes(toolCallId))
  const putOff = about.findLastIndex((line) => line.includes('"hook_deferred_tool"'))
  return putOff >= 0 && !about.slice(putOff).some((line) => line.includes('"tool_result"'))
}

async function linesOf(projects: string, name: string): Promise<string[]> {
  for (const folder of await readdir(projects).catch(() => [])) {
    const text = await readFile(join(projects, folder, name), 'utf8').catch(() => null)
    if (text !== null) return text.split('\n')
  }
  return []
}
