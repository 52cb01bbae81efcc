import { AskbackError } from '@askback/protocol'
import { finishBackup, type DatabaseCounts } from '@askback/store-sqlite'
import { existsSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { defaultDataFolder } from './data-folder.js'
import { copyDatabase, databaseFile, refuseShared } from './database-copy.js'
import { printJson } from './output.js'
import { usageError } from './usage.js'

/** `askback backup FILE`: the database as one file, checked before it gets that name. */
export async function backup(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      data: { type: 'string' },
      store: { type: 'string' },
      replace: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  const [name, ...more] = positionals
  if (name === undefined || more.length > 0) throw usageError('It is askback backup FILE.')
  refuseShared(values)
  const file = resolve(name)
  const folder = values.data ?? defaultDataFolder()
  refuseDataFile(file, folder)
  if (existsSync(file) && !values.replace) {
    throw new AskbackError(
      'invalid_request',
      `There is a file ${file} already: choose another name, or give --replace.`,
    )
  }
  const draft = `${file}.part`
  await copyDatabase(folder, draft).catch((error: unknown) => {
    throw writeProblem(error, file)
  })
  const counts = finishBackup(draft, file, { replace: values.replace })
  const { size: bytes } = statSync(file)
  if (values.json) printJson({ file, bytes, ...counts })
  else process.stdout.write(`${file}: ${describe(counts)}, checked.\n`)
  return 0
}

/** A gateway that runs would go on to write to a file that nobody finds any more. */
function refuseDataFile(file: string, folder: string): void {
  const database = databaseFile(folder)
  if (!existsSync(database) || !existsSync(dirname(file))) return
  const real = realpathSync(database)
  const at = join(realpathSync(dirname(file)), basename(file))
  const isData = [database, real].some((path) => {
    const own = join(realpathSync(dirname(path)), basename(path))
    return at === own || at.startsWith(`${own}-`)
  })
  if (isData)
    throw new AskbackError(
      'invalid_request',
      `The file ${file} is the data itself: choose another name for the backup.`,
    )
}

export function describe({ sessions, events, pending }: DatabaseCounts): string {
  return `${counted(sessions, 'session')}, ${counted(events, 'event')}, ${pending} pending`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function writeProblem(error: unknown, file: string): unknown {
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
