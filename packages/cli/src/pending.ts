import type { Interaction } from '@askback/protocol'
import { parseArgs } from 'node:util'
import { allOf, asPerson } from './people/person.js'
import { summaryOf } from './people/summary.js'
import { table } from './people/table.js'
import { WHERE } from './reach/connection.js'
import { printJson } from './output.js'

/** `askback pending`: what waits for a person, oldest first. */
export async function pending(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { ...WHERE, json: { type: 'boolean', default: false } } })
  const items = await allOf<Interaction>(asPerson(values), '/api/interactions', 'interactions')
  if (values.json) printJson({ interactions: items })
  else if (items.length > 0) process.stdout.write(table(items.map(row), process.stdout))
  else process.stderr.write('All caught up.\n')
  return 0
}

function row(item: Interaction): string[] {
  return [item.interactionId, item.kind, summaryOf(item)]
}
