import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

/** A folder on the disk of the workspace: one in memory would make syncing free, and could not find our packages. */
export function workFolder(): { folder: string; remove: () => void } {
  const cache = fileURLToPath(new URL('../../node_modules/.cache/askback', import.meta.url))
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'durability-'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Makes one file of a TypeScript program and the sources of our packages, for a Node that cannot run TypeScript. */
export async function bundle(entry: URL, folder: string): Promise<string> {
  const build = await rolldown({
    input: fileURLToPath(entry),
    platform: 'node',
    external: ['libsql'],
    resolve: { conditionNames: ['askback-source', 'node', 'import', 'default'] },
  })
  const file = join(folder, 'child.mjs')
  await build.write({ file, format: 'esm', codeSplitting: false })
  await build.close()
  return file
}

export function buildShim(folder: string): string {
  const file = join(folder, 'disk-shim.so')
  const source = fileURLToPath(new URL('disk-shim.c', import.meta.url))
  for (const compiler of ['cc', 'gcc', 'g++']) {
    try {
      execFileSync(compiler, ['-x', 'c', '-shared', '-fPIC', '-O1', '-o', file, source, '-ldl'], {
        stdio: 'pipe',
      })
      return file
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    }
  }
  throw new Error(
    'Counting the syncs of a process needs Linux and a C compiler (cc, gcc or g++); there is none here.',
  )
}
