import { checkStart } from '@askback/store-sqlite'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { broken, fine, isRunning, messageOf, type Check } from './check.js'

const HEADER = 'SQLite format 3\0'

export function folderCheck(folder: string): Check {
  const name = 'data folder'
  if (!existsSync(folder)) return fine(name, `${folder} (made at the first start)`)
  const found = statSync(folder)
  if (!found.isDirectory()) return broken(name, `${folder} is a file: name a folder with --data`)
  if (process.platform !== 'win32' && (found.mode & 0o077) !== 0)
    return broken(name, `${folder} can be read by others: run chmod 700 on it`)
  return mayUse(folder)
    ? fine(name, folder)
    : broken(name, `${folder} may not be read and written by this user`)
}

/** `served` is the process of the gateway that answers, if there is one. */
export function databaseCheck(folder: string, served: number | null): Check | null {
  const name = 'database'
  const path = join(folder, 'askback.db')
  // What is wrong with the folder was said.
  if (!existsSync(path)) return served === null ? startProblem(path) : null
  if (!mayUse(path)) return broken(name, `${path} may not be read and written by this user`)
  if (!isDatabase(path)) return broken(name, `${path} is not an Askback database`)
  const owner = ownerOf(path)
  if (owner && owner.pid !== served && owner.isHere && isRunning(owner.pid))
    return broken(
      name,
      `${path} is in use by process ${owner.pid}, which is no gateway that answers: end it first`,
    )
  return (served === null ? startProblem(path) : null) ?? fine(name, `${path} (${sizeOf(path)})`)
}

/** Why a gateway would not start on it; `null` if it would. */
function startProblem(path: string): Check | null {
  try {
    checkStart(path)
    return null
  } catch (error) {
    return broken('database', messageOf(error))
  }
}

function mayUse(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** An empty one is about to be made. */
function isDatabase(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const start = Buffer.alloc(HEADER.length)
    const read = readSync(file, start, 0, start.length, 0)
    return read === 0 || start.toString('latin1') === HEADER
  } finally {
    closeSync(file)
  }
}

/** The note that whoever holds the database leaves beside it. */
function ownerOf(path: string): { pid: number; isHere: boolean } | null {
  try {
    const { pid, host } = JSON.parse(readFileSync(`${path}-owner`, 'utf8')) as Record<string, unknown>
    return typeof pid === 'number' ? { pid, isHere: host === hostname() } : null
  } catch {
    return null
  }
}

function sizeOf(path: string): string {
  const bytes = [path, `${path}-wal`].reduce(
    (sum, each) => sum + (existsSync(each) ? statSync(each).size : 0),
    0,
  )
  return bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`
}
