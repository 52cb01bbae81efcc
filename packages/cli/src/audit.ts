import { parseArgs } from 'node:util'
import { asPerson } from './people/person.js'
import { WHERE } from './reach/connection.js'
import { usageError } from './usage.js'

/** `askback audit`: who settled what, one line each. */
export async function audit(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      ...WHERE,
      format: { type: 'string', default: 'jsonl' },
      json: { type: 'boolean', default: false },
    },
  })
  const format = values.json ? 'jsonl' : values.format
  if (format !== 'jsonl' && format !== 'csv') throw usageError('--format is jsonl or csv.')
  const lines = await asPerson(values).text({ method: 'GET', path: `/api/audit?format=${format}` })
  process.stdout.write(lines)
  if (lines === '') process.stderr.write('Nothing was settled yet.\n')
  return 0
}
