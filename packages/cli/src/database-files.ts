import { CONFIG_NAMES } from './config-file.js'
import { AskbackError } from '@askback/protocol'
import { sqliteStore } from '@askback/store-sqlite'
import { createWriteStream, existsSync, realpathSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { hasRunningGateway } from './data-folder.js'
import { findConnection } from './reach/connection.js'
import { download } from './reach/http.js'

export function databaseFile(folder: string): string {
  return join(folder, 'askback.db')
}

/** The suffixes of files that exist beside a database in use. */
const COMPANION_SUFFIXES = ['-wal', '-mark', '-owner']
const GATEWAY_FILES = new Set([
  ...['', ...COMPANION_SUFFIXES].map((suffix) => `askback.db${suffix}`),
  'gateway.json',
  'tokens.json',
  'config.json',
  ...CONFIG_NAMES,
])

/** Whether this is the path of a file that the gateway on the data folder uses, whether the file exists or not. */
export function isGatewayFile(file: string, folder: string): boolean {
  const isInFolder = existsSync(folder) && realFolderOf(file) === realpathSync(folder)
  // Some file systems ignore the case of letters.
  return isInFolder && GATEWAY_FILES.has(basename(file).toLowerCase())
}

/** Whether a file is a database that is in use, or that was in use when its process was killed. */
export function isDatabaseInUse(file: string): boolean {
  return COMPANION_SUFFIXES.some((suffix) => existsSync(`${file}${suffix}`))
}

function realFolderOf(file: string): string {
  const folder = dirname(file)
  return existsSync(folder) ? realpathSync(folder) : folder
}

/**
 * Copies the database of a data folder to a new file. A running gateway has locked the database, so the copy is downloaded from
 * it. On failure nothing of the copy stays.
 */
export async function copyDatabase(folder: string, to: string): Promise<void> {
  rmSync(to, { force: true })
  try {
    if (!hasRunningGateway(folder) || !(await copyFromGateway(folder, to))) await copyFromFile(folder, to)
  } catch (error) {
    rmSync(to, { force: true })
    throw error
  }
}

/** Resolves to false if no gateway listens: one that was killed leaves its announcement, and its pid may be reused. */
async function copyFromGateway(folder: string, to: string): Promise<boolean> {
  try {
    await download(findConnection('person', { data: folder }, process.env), '/api/backup', to)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED') return false
    throw error
  }
}

async function copyFromFile(folder: string, to: string): Promise<void> {
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
