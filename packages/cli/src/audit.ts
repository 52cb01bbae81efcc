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
  process.stdout.write(await asPerson(values).text({ method: 'GET', path: `/api/audit?format=${format}` }))
  return 0
}
