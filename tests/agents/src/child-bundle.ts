import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle } from '../../durability/bundle.js'

/**
 * Bundles a program of these tests into one file, so that Node can run it without a loader. The file is inside `node_modules`,
 * where it finds the real SDK.
 */
export async function bundleChild(source: URL): Promise<{ file: string; remove: () => Promise<void> }> {
  const cache = fileURLToPath(new URL('../node_modules/.cache', import.meta.url))
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'askback-'))
  const file = await bundle(source, folder, ['libsql', '@anthropic-ai/claude-agent-sdk', 'pg'])
  return { file, remove: () => rm(folder, { recursive: true }) }
}
