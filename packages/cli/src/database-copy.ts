import { AskbackError } from '@askback/protocol'
import { sqliteStore } from '@askback/store-sqlite'
import { createWriteStream, existsSync, realpathSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { isRunning } from './doctor/check.js'
import { findConnection } from './reach/connection.js'
import { download } from './reach/download.js'
import { findGateway } from './running-gateway.js'

export function databaseFile(folder: string): string {
  return join(folder, 'askback.db')
}

/** What a database in use has beside it. */
const BESIDE = ['-wal', '-mark', '-owner']
const DATA_FILES = new Set([
  ...['', ...BESIDE].map((end) => `askback.db${end}`),
  'gateway.json',
  'tokens.json',
  'config.json',
])

/** Whether it is, or would be, one of the files that a gateway keeps in its data folder. */
export function isDataFile(file: string, folder: string): boolean {
  const isInFolder = existsSync(folder) && realFolderOf(file) === realpathSync(folder)
  // Some file systems do not tell letters by case.
  return isInFolder && DATA_FILES.has(basename(file).toLowerCase())
}

/** Whether a file is a database that is in use, or was when its process was killed. */
export function isInUse(file: string): boolean {
  return BESIDE.some((end) => existsSync(`${file}${end}`))
}

function realFolderOf(file: string): string {
  const folder = dirname(file)
  return existsSync(folder) ? realpathSync(folder) : folder
}

/** Whether a process runs that has announced itself as the gateway on this folder. */
export function hasGateway(folder: string): boolean {
  const running = findGateway(folder)
  return running !== null && isRunning(running.pid)
}

/**
 * Copies the database of a data folder to a new file, as a store hands it out. A gateway that runs has the database to
 * itself, so it makes the copy.
 */
export async function copyDatabase(folder: string, to: string): Promise<void> {
  rmSync(to, { force: true })
  try {
    if (!hasGateway(folder) || !(await copyRunning(folder, to))) await copyStopped(folder, to)
  } catch (error) {
    rmSync(to, { force: true })
    throw error
  }
}

/** False if nobody is there: one that was killed has left its announcement, and its process number may be another's. */
async function copyRunning(folder: string, to: string): Promise<boolean> {
  try {
    await download(findConnection('person', { data: folder }, process.env), '/api/backup', to)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED') return false
    throw error
  }
}

async function copyStopped(folder: string, to: string): Promise<void> {
  const path = databaseFile(folder)
  if (!existsSync(path))
    throw new AskbackError('invalid_request', `There is no data in ${path}. Name its folder with --data.`)
  const store = sqliteStore({ path })
  try {
    await store.copy?.(({ chunks }) => pipeline(chunks, createWriteStream(to, { flags: 'wx', mode: 0o600 })))
  } finally {
    await store.close()
  }
}

/** A database server has its own tools. */
export function refuseShared(flags: { data?: string | undefined; store?: string | undefined }): void {
  const url = flags.store ?? (flags.data === undefined ? process.env['ASKBACK_STORE'] : undefined)
  if (url === undefined || url === '') return
  throw new AskbackError(
    'invalid_request',
    'The data is in PostgreSQL: back it up with pg_dump, and restore it with pg_restore.',
  )
}
