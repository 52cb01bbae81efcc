import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'rolldown'
import { root } from '../../architecture/workspace.js'

const cache = join(root, 'node_modules/.cache/askback/command')

/** The command as it would be installed, made from the sources as they are: so no test runs an old build. */
export const commandFile = await madeOnce()

/** The files of a run share it. What earlier runs have left goes with the next. */
async function madeOnce(): Promise<string> {
  mkdirSync(cache, { recursive: true })
  const folder = join(cache, `${process.pid}-${newestSource()}`)
  const file = join(folder, 'main.mjs')
  if (existsSync(file)) return file
  for (const name of readdirSync(cache))
    if (!isRunning(Number.parseInt(name, 10))) rmSync(join(cache, name), { recursive: true, force: true })
  const draft = `${folder}-${crypto.randomUUID()}`
  await build({
    input: join(root, 'packages/cli/src/main.ts'),
    platform: 'node',
    resolve: { conditionNames: ['askback-source', 'node', 'import', 'default'] },
    external: (id) => !id.startsWith('.') && !id.startsWith('/') && !id.startsWith('@askback/'),
    output: { dir: draft, format: 'esm', entryFileNames: 'main.mjs', chunkFileNames: '[name].mjs' },
    logLevel: 'silent',
  })
  try {
    renameSync(draft, folder)
  } catch {
    // Another worker was faster.
    rmSync(draft, { recursive: true, force: true })
  }
  return file
}

function newestSource(): number {
  const packages = join(root, 'packages')
  const sources = readdirSync(packages).map((name) => join(packages, name, 'src'))
  const files = sources.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()),
  )
  return Math.max(...files.map(({ parentPath, name }) => statSync(join(parentPath, name)).mtimeMs))
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
