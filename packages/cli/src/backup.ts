import { AskbackError } from '@askback/protocol'
import { finishBackup, type DatabaseCounts } from '@askback/store-sqlite'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { defaultDataFolder } from './data-folder.js'
import { copyDatabase, isDataFile, isInUse, refuseShared } from './database-copy.js'
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
  if (name === undefined || more.length > 0) throw usageError('Usage: askback backup FILE.')
  refuseShared(values)
  const file = resolve(name)
  const folder = values.data ?? defaultDataFolder()
  const problem = problemWith(file, folder, values.replace)
  if (problem !== null) throw new AskbackError('invalid_request', problem)
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

/** Why the copy must not get this name; `null` if it may. */
function problemWith(file: string, folder: string, mayReplace: boolean): string | null {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found?.isDirectory()) return `${file} is a folder: name a file in it.`
  // A gateway would go on writing to the file that was replaced, and lose all of it when it stops.
  if (isDataFile(file, folder) || isInUse(file))
    return `A gateway works with the file ${file}: choose another name.`
  return found && !mayReplace
    ? `There is a file ${file} already: choose another name, or give --replace.`
    : null
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
