import { parseArgs } from 'node:util'
import { asPerson } from './people/person.js'
import { WHERE } from './reach/connection.js'
import { usageError } from './usage.js'
import { printData } from './output.js'

/** `askback audit`: who settled what, and who changed what else matters, one line each. */
export async function audit(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      ...WHERE,
      format: { type: 'string', default: 'jsonl' },
      only: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  })
  const format = values.json ? 'jsonl' : values.format
  if (format !== 'jsonl' && format !== 'csv') throw usageError('--format is jsonl or csv.')
  const { only } = values
  if (only !== undefined && only !== 'decisions' && only !== 'acts')
    throw usageError('--only is decisions or acts.')
  const query = new URLSearchParams({ format, ...(only !== undefined && { only }) })
  const lines = await asPerson(values).text({ method: 'GET', path: `/api/audit?${query.toString()}` })
  printData(lines)
  if (lines === '') process.stderr.write('The audit is empty.\n')
  return 0
}
