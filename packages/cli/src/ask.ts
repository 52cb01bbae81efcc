import { AskbackError } from '@askback/protocol/errors'
import { isRecord } from '@askback/protocol/guards'
import type { Interaction, Json, OpenBody } from '@askback/protocol'
import { parseArgs } from 'node:util'
import { jsonArgument, readJsonFile, usageError } from './arguments.js'
import { abortOnSignals, waitForSettlement } from './asking/ask-person.js'
import { ASKING_FLAGS, printOutcome, runAsking, sayPending } from './asking/command.js'
import { ADDRESS_FLAGS, type CallerRole, type GatewayAddress } from './reach/connection.js'
import { GatewayClient } from './reach/gateway-client.js'
import { say } from './terminal.js'

export const ASK_FLAGS = {
  ...ASKING_FLAGS,
  option: { type: 'string', multiple: true, default: [] as string[] },
  multi: { type: 'boolean', default: false },
  header: { type: 'string' },
  default: { type: 'string', multiple: true, default: [] as string[] },
} as const

export const FORM_FLAGS = {
  ...ASKING_FLAGS,
  message: { type: 'string' },
  values: { type: 'string' },
  default: { type: 'string' },
} as const

export const REQUEST_APPROVAL_FLAGS = {
  ...ASKING_FLAGS,
  tool: { type: 'string' },
  input: { type: 'string', default: '{}' },
  title: { type: 'string' },
  description: { type: 'string' },
  reason: { type: 'string' },
} as const

export const REQUEST_FLAGS = {
  ...ASKING_FLAGS,
  kind: { type: 'string' },
  input: { type: 'string', default: '{}' },
  default: { type: 'string' },
} as const

export const WAIT_FLAGS = { ...ADDRESS_FLAGS, json: { type: 'boolean', default: false } } as const

/** `askback ask "Which database?" --option Postgres --option SQLite`: prints the answer. */
export async function ask(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: ASK_FLAGS })
  const [question, ...more] = positionals
  if (question === undefined || more.length > 0) {
    throw usageError('Usage: askback ask "QUESTION" with one --option for each choice.')
  }
  const { option: options, multi, header, default: defaults } = values
  const repeated = options.find((label, index) => options.indexOf(label) !== index)
  if (repeated !== undefined) throw usageError(`--option ${JSON.stringify(repeated)} is there twice.`)
  const body: OpenBody = {
    kind: 'question',
    toolName: 'askback_ask',
    request: {
      questions: [
        {
          header: header ?? 'Question',
          question,
          options: options.map((label) => ({ label })),
          multiSelect: multi,
        },
      ],
    },
    ...(defaults.length > 0 && { onTimeout: { answer: { answers: [defaultReply(defaults, options)] } } }),
  }
  return runAsking(body, values, question)
}

/** A default that is not one of the options counts as a free text, as a person could give it. */
function defaultReply(given: string[], options: string[]): { selected: string[]; other?: string } {
  const selected = given.filter((text) => options.includes(text))
  const [other, ...more] = given.filter((text) => !options.includes(text))
  if (more.length > 0) throw usageError(`Only one --default may be none of the options: ${more.join(', ')}.`)
  return other === undefined ? { selected } : { selected, other }
}

/** `askback form schema.json`: prints the values as JSON. */
export async function form(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: FORM_FLAGS })
  const [path, ...more] = positionals
  if (path === undefined || more.length > 0)
    throw usageError('Usage: askback form SCHEMA.json, or - for stdin.')
  const { message, schema } = schemaIn(readJsonFile(path, 'The schema'))
  const text = values.message ?? message ?? 'Please fill this in.'
  const body: OpenBody = {
    kind: 'form',
    toolName: 'askback_form',
    request: {
      message: text,
      schema,
      ...(values.values !== undefined && { initialValues: jsonArgument(values.values, '--values') }),
    },
    ...(values.default !== undefined && {
      onTimeout: { answer: { values: jsonArgument(values.default, '--default') } },
    }),
  }
  return runAsking(body, values, text)
}

/** The file contains a schema, or a whole request with its message. */
function schemaIn(content: Json): { message?: string; schema: Json } {
  const { message, schema } = isRecord(content) ? content : {}
  if (schema === undefined) return { schema: content }
  return { schema, ...(typeof message === 'string' && { message }) }
}

/** `askback request-approval --tool deploy --input @file`: exits with 0 if it was approved, with 3 if it was denied. */
export async function requestApproval(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: REQUEST_APPROVAL_FLAGS })
  const { tool, title, description, reason } = values
  if (!tool)
    throw usageError('Usage: askback request-approval --tool NAME --input JSON, or @FILE, or @- for stdin.')
  const request = {
    input: jsonArgument(values.input, '--input'),
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(reason !== undefined && { reason }),
  }
  return runAsking({ kind: 'approval', toolName: tool, request }, values, `may ${tool} run?`)
}

/** `askback request --kind time_slot --input @file`: asks for a kind that the gateway's settings define, and prints the answer as JSON. */
export async function request(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: REQUEST_FLAGS })
  const { kind, input, default: declared } = values
  if (!kind) throw usageError('Usage: askback request --kind NAME --input JSON, or @FILE, or @- for stdin.')
  const body: OpenBody = {
    kind,
    toolName: `ask_${kind}`,
    request: jsonArgument(input, '--input'),
    ...(declared !== undefined && { onTimeout: { answer: jsonArgument(declared, '--default') } }),
  }
  return runAsking(body, values, kind)
}

/** `askback wait ID`: waits for the answer to a request that another process opened. */
export async function wait(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: WAIT_FLAGS })
  const [interactionId, ...more] = positionals
  if (!interactionId || more.length > 0) throw usageError('Usage: askback wait ID.')
  const signal = abortOnSignals()
  const { found, gateway, isObserver } = await findRequest(interactionId, values)
  if (found.status === 'pending') sayPending(found, gateway.url, '', values)
  const interaction = await waitForSettlement(found, { gateway, signal, isObserver })
  return printOutcome(interaction, { json: values.json, isObserver })
}

/** Reads the request with the token of agents, and if that is not allowed, as a person who observes it. */
async function findRequest(interactionId: string, address: GatewayAddress) {
  try {
    return await findRequestAs('agent', interactionId, address)
  } catch (error) {
    if (!(error instanceof AskbackError) || error.code !== 'forbidden') throw error
    // If there is no token of a person either, the first error is the one to show.
    return findRequestAs('person', interactionId, address).catch(() => Promise.reject(error))
  }
}

async function findRequestAs(role: CallerRole, interactionId: string, address: GatewayAddress) {
  const gateway = new GatewayClient(role, address, { env: process.env, say })
  const { interaction: found, yours } = await gateway.json<{ interaction: Interaction; yours: boolean }>({
    method: 'GET',
    path: `/api/interactions/${encodeURIComponent(interactionId)}`,
  })
  return { found, gateway, isObserver: !yours }
}
