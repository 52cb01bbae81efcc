import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

/** A folder on the disk of the workspace. In a folder in memory syncs would cost nothing, and a program would not find our packages. */
export function workFolder(): { folder: string; remove: () => void } {
  const cache = fileURLToPath(new URL('../../node_modules/.cache/askback', import.meta.url))
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'durability-'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/**
 * Bundles a TypeScript program with the sources of our packages into one file that Node can run without a loader.
 *
 * @param external - packages that are not bundled, since they have native code or find files of their own
 */
export async function bundle(
  entry: URL,
  folder: string,
  external: readonly (string | RegExp)[] = ['libsql'],
): Promise<string> {
  const build = await rolldown({
    input: fileURLToPath(entry),
    platform: 'node',
    external: [...external],
    resolve: { conditionNames: ['askback-source', 'node', 'import', 'default'] },
  })
  const file = join(folder, 'child.mjs')
  await build.write({ file, format: 'esm', codeSplitting: false })
  await build.close()
  return file
}
