import { AskbackError } from '@askback/protocol'
import { restoreDatabase } from '@askback/store-sqlite'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { describe } from './backup.js'
import { openDataFolder } from './data-folder.js'
import { databaseFile, hasGateway, refuseShared } from './database-copy.js'
import { printJson } from './output.js'
import { usageError } from './usage.js'

/** `askback restore FILE`: what `askback backup` wrote becomes the database of a data folder that no gateway uses. */
export async function restore(args: string[]): Promise<number> {
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
  const [file, ...more] = positionals
  if (file === undefined || more.length > 0) throw usageError('Usage: askback restore FILE.')
  refuseShared(values)
  const folder = openDataFolder(values.data)
  const path = databaseFile(folder)
  // One that keeps its data in a file has it locked.
  if (hasGateway(folder) && !existsSync(path)) {
    throw new AskbackError(
      'invalid_request',
      `A gateway that keeps its data in PostgreSQL runs on ${folder}, and would not read this: name another folder with --data.`,
    )
  }
  const counts = restoreDatabase(resolve(file), path, { replace: values.replace })
  if (values.json) printJson({ file: path, ...counts })
  else process.stdout.write(`${path}: ${describe(counts)}, checked.\n`)
  return 0
}
