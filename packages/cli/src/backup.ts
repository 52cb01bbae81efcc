import { AskbackError } from '@askback/protocol'
import { finishBackup, restoreDatabase, type DatabaseCounts } from '@askback/store-sqlite'
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { usageError } from './arguments.js'
import { defaultDataFolder, hasRunningGateway, openDataFolder } from './data-folder.js'
import { copyDatabase, databaseFile, isDatabaseInUse, isGatewayFile } from './database-files.js'
import { printJson } from './terminal.js'

/** Of `askback backup` and `askback restore`. */
export const BACKUP_FLAGS = {
  data: { type: 'string' },
  store: { type: 'string' },
  replace: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const

/** `askback backup FILE`: copies the database to one file. The copy is checked before it gets that name. */
export async function backup(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: BACKUP_FLAGS })
  const [name, ...more] = positionals
  if (name === undefined || more.length > 0) throw usageError('Usage: askback backup FILE.')
  refuseSharedStore(values)
  const file = resolve(name)
  const folder = values.data ?? defaultDataFolder()
  const problem = problemWith(file, folder, values.replace)
  if (problem !== null) throw new AskbackError('invalid_request', problem)
  const draft = `${file}.part`
  await copyDatabase(folder, draft).catch((error: unknown) => {
    throw writeError(error, file)
  })
  const counts = finishBackup(draft, file, { replace: values.replace })
  const { size: bytes } = statSync(file)
  if (values.json) printJson({ file, bytes, ...counts })
  else process.stdout.write(`${file}: ${describeCounts(counts)}, checked.\n`)
  return 0
}

/** `askback restore FILE`: puts a backup into a data folder that no gateway uses. */
export async function restore(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: BACKUP_FLAGS })
  const [file, ...more] = positionals
  if (file === undefined || more.length > 0) throw usageError('Usage: askback restore FILE.')
  refuseSharedStore(values)
  const folder = openDataFolder(values.data)
  const path = databaseFile(folder)
  // A gateway that keeps its data in this file has locked it, which `restoreDatabase` notices.
  if (hasRunningGateway(folder) && !existsSync(path)) {
    throw new AskbackError(
      'invalid_request',
      `A gateway that keeps its data in PostgreSQL runs on ${folder}, and would not read this: name another folder with --data.`,
    )
  }
  const counts = restoreDatabase(resolve(file), path, { replace: values.replace })
  if (values.json) printJson({ file: path, ...counts })
  else process.stdout.write(`${path}: ${describeCounts(counts)}, checked.\n`)
  return 0
}

/** Why the backup must not get this name; `null` if it may. */
function problemWith(file: string, folder: string, mayReplace: boolean): string | null {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found?.isDirectory()) return `${file} is a folder: name a file in it.`
  // A running gateway would continue to write to the replaced file, and all of that would be lost when it stops.
  if (isGatewayFile(file, folder) || isDatabaseInUse(file))
    return `A gateway works with the file ${file}: choose another name.`
  return found && !mayReplace
    ? `There is a file ${file} already: choose another name, or give --replace.`
    : null
}

export function describeCounts({ sessions, events, pending }: DatabaseCounts): string {
  return `${counted(sessions, 'session')}, ${counted(events, 'event')}, ${pending} pending`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function writeError(error: unknown, file: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const why = {
    ENOENT: 'its folder does not exist',
    ENOSPC: 'the disk is full',
    EACCES: 'you may not write there',
  }[code]
  return why === undefined
    ? error
    : new AskbackError('unavailable', `The backup ${file} cannot be written: ${why}.`, { cause: error })
}

/** PostgreSQL has its own tools for backups. */
function refuseSharedStore(flags: { data?: string | undefined; store?: string | undefined }): void {
  const url = flags.store ?? (flags.data === undefined ? process.env['ASKBACK_STORE'] : undefined)
  if (url === undefined || url === '') return
  throw new AskbackError(
    'invalid_request',
    'The data is in PostgreSQL: back it up with pg_dump, and restore it with pg_restore.',
  )
}
