import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from '../../architecture/workspace.js'

const cache = join(root, 'node_modules/.cache/askback/made')
const run = join(cache, `${process.pid}-${newestSource()}`)

/** A folder that is built from the current sources once per test run, and shared by all test files. */
export async function madeOnce(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(run, name)
  if (existsSync(folder)) return folder
  removeOldRuns()
  const claim = `${folder}.claim`
  if (!isFirst(claim)) {
    while (existsSync(claim)) await sleep(20)
    return madeOnce(name, make)
  }
  try {
    if (existsSync(folder)) return folder
    const draft = `${folder}.draft`
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

function removeOldRuns(): void {
  mkdirSync(run, { recursive: true })
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
