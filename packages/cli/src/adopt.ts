import { findTranscript, HistoryReader } from '@askback/agents/adopt'
import { AskbackError } from '@askback/protocol/errors'
import type { AdoptBody, Session } from '@askback/protocol'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { asPerson } from './people/person.js'
import { WHERE } from './reach/connection.js'
import { usageError } from './usage.js'
import { printJson, say } from './output.js'

const NAMES: Record<string, string> = { claude: 'Claude Code', codex: 'Codex' }
/** A long history takes a gateway a while. */
const HOLD_SECONDS = 60

/** `askback adopt FILE`: goes on here with a session of Claude Code or Codex that was started elsewhere. */
export async function adopt(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { ...WHERE, from: { type: 'string' }, json: { type: 'boolean', default: false } },
  })
  const [named, ...more] = positionals
  if (!named || more.length > 0) throw usageError('Usage: askback adopt FILE, or the id of a session.')
  const file = findTranscript(named, process.env)
  const { history, unread } = await read(file)
  const { items, ...head } = history
  const { from } = values
  const gateway = asPerson(values)
  const { session, created } = await gateway.json<{ session: Session; created: boolean }>({
    method: 'POST',
    path: '/api/sessions/adopt',
    lines: [{ ...head, ...(from && { from }) }, ...items],
    holds: HOLD_SECONDS,
  })
  if (unread > 0) say(`${unread === 1 ? 'One line' : `${unread} lines`} of ${file} could not be read.`)
  say(created ? told(history) : 'It is here already; nothing was changed.')
  say(`Go on with it at ${gateway.url}, or with: askback send ${session.id} "…"`)
  if (values.json) printJson({ session, created })
  else process.stdout.write(`${session.id}\n`)
  return 0
}

async function read(file: string): Promise<{ history: AdoptBody; unread: number }> {
  const reader = new HistoryReader()
  let isEmpty = true
  try {
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      isEmpty = false
      reader.add(line)
    }
  } catch (error) {
    throw unreadable(file, error)
  }
  if (isEmpty) throw new AskbackError('invalid_request', `${file} is empty.`)
  try {
    return { history: reader.history(), unread: reader.unread }
  } catch (error) {
    if (!(error instanceof AskbackError)) throw error
    throw new AskbackError(error.code, error.message.replace(/^That/, file))
  }
}

function unreadable(file: string, error: unknown): AskbackError {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  const why =
    code === 'ENOENT'
      ? missing(file)
      : code === 'EISDIR'
        ? `${file} is a folder: name the file of a session in it, or the session’s id.`
        : code === 'EACCES' || code === 'EPERM'
          ? `You may not read ${file}.`
          : `${file} cannot be read.`
  return new AskbackError('invalid_request', why, { cause: error })
}

/** What is no path may have been meant as an id. */
function missing(named: string): string {
  if (/[/\\.]/.test(named)) return `There is no file ${named}.`
  return `There is no file ${named}, and Claude Code and Codex have no session with that id here. Give the path of a transcript, or the id of a session.`
}

function told({ agent, items }: AdoptBody): string {
  const count = (type: string) => items.filter((item) => item.type === type).length
  const some = (number: number, what: string) => `${number} ${what}${number === 1 ? '' : 's'}`
  const what = `${some(count('user_message'), 'message')} and ${some(count('tool_call'), 'tool call')}`
  return `Took over a session of ${NAMES[agent] ?? agent} with ${what}.`
}
