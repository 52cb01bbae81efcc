import type { Interaction, MessageRoute, Question, Session } from '@askback/protocol'
import { isOfKind } from '@askback/protocol/guards'
import { parseArgs } from 'node:util'
import { shortDuration, usageError } from './arguments.js'
import { ADDRESS_FLAGS } from './reach/connection.js'
import { gatewayAsPerson, readAllPages } from './reach/gateway-client.js'
import { cutTo, printJson, say, table } from './terminal.js'

/** Of `askback pending` and `askback sessions`. */
export const LIST_FLAGS = { ...ADDRESS_FLAGS, json: { type: 'boolean', default: false } } as const

export const SEND_FLAGS = {
  ...ADDRESS_FLAGS,
  route: { type: 'string' },
  interaction: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const

/** The width of a row if the output is not a terminal. `--json` has the whole request. */
const COLUMNS_WITHOUT_TERMINAL = 200
const TITLE_COLUMNS = 24

/** `askback pending`: lists pending requests, oldest first. */
export async function pending(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: LIST_FLAGS })
  const gateway = gatewayAsPerson(values)
  const interactions = await readAllPages<Interaction>(gateway, '/api/interactions', 'interactions')
  if (values.json) printJson({ interactions })
  else if (interactions.length === 0) process.stderr.write('All caught up.\n')
  else {
    const sessions = await readAllPages<Session>(gateway, '/api/sessions', 'sessions')
    const titles = new Map(sessions.map(({ id, title, agent }) => [id, title ?? agent ?? 'outside']))
    const now = Date.now()
    const columns = process.stdout.isTTY ? process.stdout.columns : COLUMNS_WITHOUT_TERMINAL
    const rows = interactions.map((each) => pendingRow(each, titles.get(each.sessionId) ?? '', now))
    process.stdout.write(table(rows, { columns }))
  }
  return 0
}

function pendingRow(interaction: Interaction, title: string, now: number): string[] {
  const { interactionId, kind, requestedAt, expiresAt } = interaction
  const age = `${shortDuration(now - requestedAt)} ago`
  const deadline = expiresAt === undefined ? 'no limit' : `${shortDuration(expiresAt - now)} left`
  return [interactionId, kind, cutTo(title, TITLE_COLUMNS), age, deadline, summaryOf(interaction)]
}

/** What is asked, as one text. */
function summaryOf(item: Interaction): string {
  if (isOfKind(item, 'question')) return item.request.questions.map(questionText).join(' · ')
  if (isOfKind(item, 'plan_review')) return item.request.plan
  if (isOfKind(item, 'form')) return item.request.message
  const input = isOfKind(item, 'approval') ? item.request.input : item.request
  return `${item.toolName} ${JSON.stringify(input)}`
}

function questionText({ question, options }: Question): string {
  if (options.length === 0) return question
  return `${question} [${options.map(({ label }, index) => `${index + 1} ${label}`).join(' | ')}]`
}

/** `askback sessions`: lists all sessions, newest first. */
export async function sessions(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: LIST_FLAGS })
  const all = await readAllPages<Session>(gatewayAsPerson(values), '/api/sessions', 'sessions')
  if (values.json) printJson({ sessions: all })
  else if (all.length > 0) process.stdout.write(table(all.map(sessionRow), process.stdout))
  else process.stderr.write('There are no sessions.\n')
  return 0
}

function sessionRow({ id, status, agent, title, cwd }: Session): string[] {
  return [id, status, agent ?? 'outside', title ?? '', cwd ?? '']
}

/** `askback send SESSION TEXT`: sends a text to a session, and says what it was taken for. */
export async function send(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: SEND_FLAGS })
  const [sessionId, text, ...more] = positionals
  if (!sessionId || text === undefined || more.length > 0) {
    throw usageError('Usage: askback send SESSION "TEXT".')
  }
  const { route, interaction: interactionId } = values
  const routed = await gatewayAsPerson(values).json<MessageRoute>({
    method: 'POST',
    path: `/api/sessions/${encodeURIComponent(sessionId)}/messages`,
    body: { text, ...(route && { route }), ...(interactionId && { interactionId }) },
  })
  if (values.json) printJson(routed)
  else say(routeText(routed))
  return 0
}

function routeText({ routed, interactionId }: MessageRoute): string {
  switch (routed) {
    case 'agent':
      return 'Sent to the agent.'
    case 'interaction':
      return `Taken as the answer to ${interactionId}.`
    case 'log':
      return 'Saved as a note in the log. This session has no agent that reads it.'
  }
}
