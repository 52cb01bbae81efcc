import {
  AskbackError,
  interaction,
  spellOutLine,
  type Interaction,
  type QuestionAnswer,
} from '@askback/protocol'
import { parseArgs } from 'node:util'
import { agreed } from './agreed.js'
import { jsonArgument } from './asking/json-input.js'
import { asPerson, findInteraction } from './people/person.js'
import { readAnswer } from './people/read-answer.js'
import { letsRun, wholeRequest } from './people/whole-request.js'
import { WHERE } from './reach/connection.js'
import { usageError } from './usage.js'
import { printJson, say } from './output.js'

const CANCELLED = 4

/** `askback answer ID …`: settles what waits, in a person's name. */
export async function answer(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      ...WHERE,
      message: { type: 'string' },
      scope: { type: 'string' },
      input: { type: 'string' },
      answer: { type: 'string' },
      yes: { type: 'boolean', short: 'y', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  const [id, ...words] = positionals
  if (!id) throw usageError('Usage: askback answer ID and the answer.')
  const { message, scope, input } = values
  const gateway = asPerson(values)
  const item = await findInteraction(gateway, id)
  const updatedInput = input === undefined ? undefined : jsonArgument(input, '--input')
  const given =
    values.answer === undefined
      ? readAnswer(item, { words, message, scope, updatedInput })
      : jsonArgument(values.answer, '--answer')
  if (letsRun(item, given)) {
    process.stderr.write(`${wholeRequest(item, given)}\n`)
    if (!values.yes && process.stdin.isTTY && !(await agreed('Approve this?'))) {
      say('Nothing was sent. The request still waits.')
      return CANCELLED
    }
  }
  const { interaction: settled } = await gateway
    .json<{ interaction: Interaction }>({
      method: 'POST',
      path: `/api/sessions/${encodeURIComponent(item.sessionId)}/interactions/${encodeURIComponent(id)}/response`,
      body: { answer: given, digest: item.digest },
    })
    .catch((error: unknown) => {
      throw askedAnew(withAllFields(error), id)
    })
  if (values.json) printJson(settled)
  else say(told(settled))
  return 0
}

/** What was understood: a text that was meant for a label, or a number that is none, shows here. */
function told({ kind, settlement = 'answered', answer: given }: Interaction): string {
  const settled = settlement.replace(/^./, (first) => first.toUpperCase())
  if (kind !== 'question') return `${settled}.`
  const replies = (given as QuestionAnswer).answers.map(({ selected, other }) =>
    [...selected, ...(other === undefined ? [] : [other])].map((text) => JSON.stringify(text)).join(', '),
  )
  return `${settled}: ${replies.join(' · ')}.`
}

/** The message of the gateway names the first field that does not fit. */
function withAllFields(error: unknown): unknown {
  if (!(error instanceof AskbackError)) return error
  const { code, details } = error
  const errors = typeof details === 'object' && details && 'errors' in details ? details.errors : null
  const fields = Object.entries(errors ?? {})
  if (fields.length < 2) return error
  const lines = fields.map(([field, why]) => `\n  ${spellOutLine(`${field}: ${String(why)}`, 'prose')}`)
  return new AskbackError(code, `The form needs another look.${lines.join('')}`, { details })
}

/** Says the id to answer now, where the same is asked again. */
function askedAnew(error: unknown, answered: string): unknown {
  if (!(error instanceof AskbackError) || typeof error.details !== 'object') return error
  const { code, message, details } = error
  const found = interaction.safeParse(details && 'interaction' in details ? details.interaction : null)
  if (!found.success) return error
  const { status, interactionId, supersededBy } = found.data
  const id = status === 'pending' ? interactionId : supersededBy
  return id === undefined || id === answered
    ? error
    : new AskbackError(code, `${message}\nIt is asked anew: askback answer ${id}`, { details })
}
