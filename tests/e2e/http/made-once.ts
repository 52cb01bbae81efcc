import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from '../../architecture/workspace.js'

/** What is built inside of the repository finds the packages of the repository; what is built outside does not. */
const caches = {
  inside: join(root, 'node_modules/.cache/askback/made'),
  outside: join(tmpdir(), `askback-made-${process.getuid?.() ?? 0}`),
}
const run = `${process.pid}-${newestSource()}`

interface MadeOnceOptions {
  /** @default inside of the repository */
  where?: keyof typeof caches
}

/** A folder that is built from the current sources once per test run, and shared by all test files. */
export async function madeOnce(
  name: string,
  make: (folder: string) => Promise<void> | void,
  options: MadeOnceOptions = {},
): Promise<string> {
  const cache = caches[options.where ?? 'inside']
  const folder = join(cache, run, name)
  if (existsSync(folder)) return folder
  removeOldRuns(cache)
  const claim = `${folder}.claim`
  if (!isFirst(claim)) {
    while (existsSync(claim)) await sleep(20)
    return madeOnce(name, make, options)
  }
  try {
    if (existsSync(folder)) return folder
    const draft = `${folder}.draft`
    // A worker that failed to build it may have left a part.
    rmSync(draft, { recursive: true, force: true })
    await make(draft)
    renameSync(draft, folder)
  } finally {
    rmdirSync(claim)
  }
  return folder
}

/** Whether this worker is the first to need it, and so builds it. */
function isFirst(claim: string): boolean {
  try {
    mkdirSync(claim)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function removeOldRuns(cache: string): void {
  mkdirSync(join(cache, run), { recursive: true })
  for (const name of readdirSync(cache))
    if (!isRunning(Number.parseInt(name, 10))) rmSync(join(cache, name), { recursive: true, force: true })
}

function newestSource(): number {
  const sources = ['packages', 'apps'].flatMap((place) =>
    readdirSync(join(root, place)).map((name) => join(root, place, name, 'src')),
  )
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
