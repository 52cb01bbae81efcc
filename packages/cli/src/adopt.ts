import { historyIn } from '@askback/agents/adopt'
import { AskbackError } from '@askback/protocol/errors'
import type { Session } from '@askback/protocol'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { asPerson } from './people/person.js'
import { WHERE } from './reach/connection.js'
import { usageError } from './usage.js'

/** `askback adopt FILE`: goes on here with a session of Claude Code or Codex that was started elsewhere. */
export async function adopt(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { ...WHERE, from: { type: 'string' }, json: { type: 'boolean', default: false } },
  })
  const [file, ...more] = positionals
  if (!file || more.length > 0) throw usageError('It is askback adopt FILE.')
  const { from } = values
  const { session } = await asPerson(values).json<{ session: Session }>({
    method: 'POST',
    path: '/api/sessions/adopt',
    body: { ...historyIn(textOf(file)), ...(from && { from }) },
  })
  process.stdout.write(`${values.json ? JSON.stringify({ session }) : session.id}\n`)
  return 0
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new AskbackError('invalid_request', `${file} cannot be read.`, { cause: error })
  }
}
