import { findTranscript, HistoryReader } from '@askback/agents/adopt'
import { AskbackError } from '@askback/protocol/errors'
import type { AdoptBody, Session } from '@askback/protocol'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { usageError } from './arguments.js'
import { ADDRESS_FLAGS } from './reach/connection.js'
import { gatewayAsPerson } from './reach/gateway-client.js'
import { printJson, say } from './terminal.js'

export const ADOPT_FLAGS = {
  ...ADDRESS_FLAGS,
  from: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const

const AGENT_NAMES: Record<string, string> = { claude: 'Claude Code', codex: 'Codex' }
/** How long the gateway may take to store a long history. */
const HOLD_SECONDS = 60

/** `askback adopt FILE`: adopts a session of Claude Code or Codex that was started elsewhere, so that it continues here. */
export async function adopt(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: ADOPT_FLAGS })
  const [named, ...more] = positionals
  if (!named || more.length > 0) throw usageError('Usage: askback adopt FILE, or the id of a session.')
  const file = findTranscript(named, process.env)
  const { history, unread } = await readTranscript(file)
  const { items, ...head } = history
  const { from } = values
  const gateway = gatewayAsPerson(values)
  const { session, created } = await gateway.json<{ session: Session; created: boolean }>({
    method: 'POST',
    path: '/api/sessions/adopt',
    lines: [{ ...head, ...(from && { from }) }, ...items],
    holds: HOLD_SECONDS,
  })
  if (unread > 0) say(`${unread === 1 ? 'One line' : `${unread} lines`} of ${file} could not be read.`)
  say(created ? summaryOf(history) : 'It is here already; nothing was changed.')
  say(`Go on with it at ${gateway.url}, or with: askback send ${session.id} "…"`)
  if (values.json) printJson({ session, created })
  else process.stdout.write(`${session.id}\n`)
  return 0
}

async function readTranscript(file: string): Promise<{ history: AdoptBody; unread: number }> {
  const reader = new HistoryReader()
  let isEmpty = true
  try {
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      isEmpty = false
      reader.add(line)
    }
  } catch (error) {
    throw readError(file, error)
  }
  if (isEmpty) throw new AskbackError('invalid_request', `${file} is empty.`)
  try {
    return { history: reader.history(), unread: reader.unread }
  } catch (error) {
    if (!(error instanceof AskbackError)) throw error
    throw new AskbackError(error.code, error.message.replace(/^That/, file))
  }
}

function readError(file: string, error: unknown): AskbackError {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  const why =
    code === 'ENOENT'
      ? missingFileText(file)
      : code === 'EISDIR'
        ? `${file} is a folder: name the file of a session in it, or the session’s id.`
        : code === 'EACCES' || code === 'EPERM'
          ? `You may not read ${file}.`
          : `${file} cannot be read.`
  return new AskbackError('invalid_request', why, { cause: error })
}

/** A word that does not look like a path may be meant as the id of a session. */
function missingFileText(named: string): string {
  if (/[/\\.]/.test(named)) return `There is no file ${named}.`
  return `There is no file ${named}, and Claude Code and Codex have no session with that id here. Give the path of a transcript, or the id of a session.`
}

function summaryOf({ agent, items }: AdoptBody): string {
  const countOf = (type: string) => items.filter((item) => item.type === type).length
  const plural = (number: number, what: string) => `${number} ${what}${number === 1 ? '' : 's'}`
  const what = `${plural(countOf('user_message'), 'message')} and ${plural(countOf('tool_call'), 'tool call')}`
  return `Took over a session of ${AGENT_NAMES[agent] ?? agent} with ${what}.`
}
