import type { Session } from '@askback/protocol'
import { parseArgs } from 'node:util'
import { allOf, asPerson } from './people/person.js'
import { table } from './people/table.js'
import { WHERE } from './reach/connection.js'
import { printJson } from './output.js'

/** `askback sessions`: all of them, newest first. */
export async function sessions(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { ...WHERE, json: { type: 'boolean', default: false } } })
  const items = await allOf<Session>(asPerson(values), '/api/sessions', 'sessions')
  if (values.json) printJson({ sessions: items })
  else if (items.length > 0) process.stdout.write(table(items.map(row), process.stdout))
  else process.stderr.write('There are no sessions.\n')
  return 0
}

function row({ id, status, agent, title, cwd }: Session): string[] {
  return [id, status, agent ?? 'outside', title ?? '', cwd ?? '']
}
