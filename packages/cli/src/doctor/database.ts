import { acceptLoss, checkDatabase, checkCanStart, finishCopy } from '@askback/store-sqlite'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { errorMessage } from '@askback/protocol/errors'
import { isRecord } from '@askback/protocol/guards'
import { describeCounts } from '../backup.js'
import { hasRunningGateway, isProcessRunning } from '../data-folder.js'
import { copyDatabase, databaseFile, isDatabaseInUse } from '../database-files.js'
import { broken, fine, missing, type DoctorCheck } from './check.js'

const CONTENTS = 'contents'
/** More findings would tell nothing new. */
const MAX_FINDINGS = 100
const SQLITE_HEADER = 'SQLite format 3\0'

export function folderCheck(folder: string): DoctorCheck {
  const name = 'data folder'
  if (!existsSync(folder)) return fine(name, `${folder} (made at the first start)`)
  const found = statSync(folder)
  if (!found.isDirectory()) return broken(name, `${folder} is a file: name a folder with --data`)
  if (process.platform !== 'win32' && (found.mode & 0o077) !== 0)
    return broken(name, `${folder} can be read by others: run chmod 700 on it`)
  return isAccessible(folder)
    ? fine(name, folder)
    : broken(name, `${folder} may not be read and written by this user`)
}

/** `gatewayPid` is the process of the gateway that answers, if there is one: it may use the database. */
export function databaseCheck(folder: string, gatewayPid: number | null): DoctorCheck | null {
  const name = 'database'
  const path = databaseFile(folder)
  // Without a database, a problem of the folder is reported by its own check.
  if (!existsSync(path)) return gatewayPid === null ? startProblem(path) : null
  if (!isAccessible(path)) return broken(name, `${path} may not be read and written by this user`)
  if (!isDatabase(path)) return broken(name, `${path} is not an Askback database`)
  const owner = ownerOf(path)
  if (owner && owner.pid !== gatewayPid && owner.isHere && isProcessRunning(owner.pid))
    return broken(
      name,
      `${path} is in use by process ${owner.pid}, which is no gateway that answers: end it first`,
    )
  return (gatewayPid === null ? startProblem(path) : null) ?? fine(name, `${path} (${sizeOf(path)})`)
}

/** Reads the whole database, with one check for each finding. If a gateway runs, a copy is read, so that it is not delayed. */
export async function contentsChecks(folder: string): Promise<DoctorCheck[]> {
  const path = databaseFile(folder)
  if (!existsSync(path)) return [noDatabase(folder)]
  try {
    if (!hasRunningGateway(folder)) return findingsIn(path)
    const copy = `${path}.check-${process.pid}`
    try {
      await copyDatabase(folder, copy)
      finishCopy(copy)
      return findingsIn(copy)
    } finally {
      for (const name of ['', '-wal', '-shm', '-journal']) rmSync(`${copy}${name}`, { force: true })
    }
  } catch (error) {
    return [broken(CONTENTS, errorMessage(error))]
  }
}

function noDatabase(folder: string): DoctorCheck {
  return missing(
    CONTENTS,
    hasRunningGateway(folder)
      ? 'are in PostgreSQL, which --deep does not read: check it with the tools of PostgreSQL'
      : `there is no database in ${folder}`,
  )
}

function findingsIn(path: string): DoctorCheck[] {
  const findings: string[] = []
  const counts = checkDatabase(path, (finding) => findings.push(finding))
  if (findings.length === 0) return [fine(CONTENTS, `${describeCounts(counts)}: nothing is wrong`)]
  const more = findings.length - MAX_FINDINGS
  return [
    ...findings.slice(0, MAX_FINDINGS).map((finding) => broken(CONTENTS, finding)),
    ...(more > 0 ? [broken(CONTENTS, `and ${more} more ${more === 1 ? 'finding' : 'findings'}`)] : []),
  ]
}

/** Accepts that acknowledged writes are missing, so that a gateway starts with the remaining data. */
export async function acceptLossCheck(folder: string): Promise<DoctorCheck> {
  const name = 'loss'
  const path = databaseFile(folder)
  if (!existsSync(path) && !isDatabaseInUse(path)) return missing(name, `there is no database in ${folder}`)
  try {
    const loss = acceptLoss(path)
    // Without the advice to restore the missing files, which is no longer needed.
    const [what] = loss?.split(/: put |\. Put /) ?? []
    return fine(
      name,
      what === undefined ? 'nothing was lost' : `accepted: a gateway starts with what is there. ${what}`,
    )
  } catch (error) {
    return broken(name, errorMessage(error))
  }
}

/** Why a gateway would not start on this database; `null` if it would. */
function startProblem(path: string): DoctorCheck | null {
  try {
    checkCanStart(path)
    return null
  } catch (error) {
    return broken('database', errorMessage(error))
  }
}

function isAccessible(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** An empty file is a database that is being created. */
function isDatabase(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const start = Buffer.alloc(SQLITE_HEADER.length)
    const read = readSync(file, start, 0, start.length, 0)
    return read === 0 || start.toString('latin1') === SQLITE_HEADER
  } finally {
    closeSync(file)
  }
}

/** The process that has locked the database, as it noted beside the database. */
function ownerOf(path: string): { pid: number; isHere: boolean } | null {
  try {
    const noted: unknown = JSON.parse(readFileSync(`${path}-owner`, 'utf8'))
    const { pid, host } = isRecord(noted) ? noted : {}
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
