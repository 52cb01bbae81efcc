import {
  AskbackError,
  hasAnswer,
  interactionInError,
  isBuiltInKind,
  spellOutLine,
  type Interaction,
  type Json,
  type KindPrompt,
  type KindPromptResult,
} from '@askback/protocol'
import { parseArgs } from 'node:util'
import { jsonArgument, usageError } from './arguments.js'
import { ADDRESS_FLAGS } from './reach/connection.js'
import { gatewayAsPerson, type GatewayClient } from './reach/gateway-client.js'
import { readAnswer, readCustomAnswer } from './read-answer.js'
import { confirm, printJson, say } from './terminal.js'

export const ANSWER_FLAGS = {
  ...ADDRESS_FLAGS,
  message: { type: 'string' },
  scope: { type: 'string' },
  input: { type: 'string' },
  answer: { type: 'string' },
  yes: { type: 'boolean', short: 'y', default: false },
  json: { type: 'boolean', default: false },
} as const

const EXIT_CANCELLED = 4

/** `askback answer ID …`: settles a request in a person's name. */
export async function answer(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: ANSWER_FLAGS })
  const [id, ...words] = positionals
  if (!id) throw usageError('Usage: askback answer ID and the answer.')
  const { message, scope, input } = values
  const gateway = gatewayAsPerson(values)
  const { interaction } = await gateway.json<{ interaction: Interaction }>({
    method: 'GET',
    path: `/api/interactions/${encodeURIComponent(id)}`,
  })
  const updatedInput = input === undefined ? undefined : jsonArgument(input, '--input')
  const given =
    values.answer !== undefined
      ? jsonArgument(values.answer, '--answer')
      : isBuiltInKind(interaction.kind)
        ? readAnswer(interaction, { words, message, scope, updatedInput })
        : readCustomAnswer(await promptOf(interaction, gateway), words)
  if (allowsAgent(interaction, given)) {
    // Everything that this answer would approve, uncut: `askback pending` shows only the beginning.
    const { interactionText } = await import('@askback/connectors/terminal')
    // Only a terminal continues a long line at the left edge.
    const columns = process.stderr.isTTY ? process.stderr.columns : Infinity
    const updated = interaction.kind === 'approval' ? fieldOf(given, 'updatedInput') : undefined
    const text = interactionText(interaction, { columns, now: Date.now(), updatedInput: updated })
    process.stderr.write(`${text}\n`)
    if (!values.yes && process.stdin.isTTY && !(await confirm('Approve this?'))) {
      say('Nothing was sent. The request still waits.')
      return EXIT_CANCELLED
    }
  }
  const { interaction: settled } = await gateway
    .json<{ interaction: Interaction }>({
      method: 'POST',
      path: `/api/sessions/${encodeURIComponent(interaction.sessionId)}/interactions/${encodeURIComponent(id)}/response`,
      body: { answer: given, digest: interaction.digest },
    })
    .catch((error: unknown) => {
      throw withNewRequest(withAllFields(error), id)
    })
  if (values.json) printJson(settled)
  else say(confirmation(settled))
  return 0
}

/** The form for a kind that the gateway's settings define. Throws with the reason if it cannot be answered. */
async function promptOf(
  { sessionId, interactionId }: Interaction,
  gateway: GatewayClient,
): Promise<KindPrompt> {
  const [session, id] = [sessionId, interactionId].map(encodeURIComponent)
  const path = `/api/sessions/${session}/interactions/${id}/prompt`
  const found = await gateway.json<KindPromptResult>({ method: 'GET', path })
  if (found.prompt) return found.prompt
  throw new AskbackError('unknown_kind', found.reason)
}

/** Whether this answer allows the agent to do what it asked for. For a custom kind that is unknown, so it counts as yes. */
export function allowsAgent({ kind }: Interaction, answer: Json): boolean {
  if (kind === 'question' || kind === 'form') return false
  const decision = fieldOf(answer, 'decision')
  return !((kind === 'approval' && decision === 'deny') || (kind === 'plan_review' && decision === 'adjust'))
}

/** Repeats the replies to questions, so that a person notices a word that was not read as the option they meant. */
function confirmation(item: Interaction): string {
  const { settlement = 'answered' } = item
  const settled = settlement.replace(/^./, (first) => first.toUpperCase())
  if (!hasAnswer(item, 'question')) return `${settled}.`
  const replies = item.answer.answers.map(({ selected, other }) =>
    [...selected, ...(other === undefined ? [] : [other])].map((text) => JSON.stringify(text)).join(', '),
  )
  return `${settled}: ${replies.join(' · ')}.`
}

/** Lists all wrong fields of a form. The message of the gateway names only the first. */
function withAllFields(error: unknown): unknown {
  if (!(error instanceof AskbackError)) return error
  const { code, details } = error
  const errors = typeof details === 'object' && details && 'errors' in details ? details.errors : null
  const fields = Object.entries(errors ?? {})
  if (fields.length < 2) return error
  const lines = fields.map(([field, why]) => `\n  ${spellOutLine(`${field}: ${String(why)}`, 'prose')}`)
  return new AskbackError(code, `The form needs another look.${lines.join('')}`, { details })
}

/** If a newer request has replaced the one that was answered, names the id to answer instead. */
function withNewRequest(error: unknown, answeredId: string): unknown {
  const found = interactionInError(error)
  if (!(error instanceof AskbackError) || !found) return error
  const { code, message, details } = error
  const { status, interactionId, supersededBy } = found
  const id = status === 'pending' ? interactionId : supersededBy
  return id === undefined || id === answeredId
    ? error
    : new AskbackError(code, `${message}\nIt is asked anew: askback answer ${id}`, { details })
}

function fieldOf(value: Json, name: string): Json | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.hasOwn(value, name) ? value[name] : undefined
}
