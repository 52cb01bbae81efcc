/**
 * Elicitation is how a server of the Model Context Protocol (MCP) asks the user something: with a form, or with the address of
 * a page to open. Agents pass these requests on to their client.
 */
import type { AskOptions, SessionHandle, Settlement } from '@askback/core'
import {
  AskbackError,
  listOf,
  objectOf,
  type FormField,
  type FormRequest,
  type FormValues,
  type Json,
} from '@askback/protocol'

/** What an MCP server asks the person. */
export interface Elicitation {
  serverName: string
  message: string
  /** Anything but `url` is a form. */
  mode?: string
  url?: string | undefined
  elicitationId?: string
  requestedSchema?: Record<string, unknown> | undefined
}

/** What the MCP server gets for an answer. */
export interface ElicitationResult {
  action: 'accept' | 'decline' | 'cancel'
  content?: Record<string, string | number | boolean | string[]>
  [key: string]: unknown
}

type Schema = Readonly<Record<string, unknown>>
type FieldType = Pick<FormField, 'type'> & Partial<FormField>

const DONE = 'Done'

/**
 * Never throws. A form that may not be shown, such as one for a password, is declined: the server can offer a page instead.
 * Any other failure, such as an interrupt, cancels the request.
 */
export async function elicit(
  session: SessionHandle,
  request: Elicitation,
  options: AskOptions,
): Promise<ElicitationResult> {
  try {
    return await (request.mode === 'url' ? askToOpenPage : askWithForm)(session, request, options)
  } catch (error) {
    const isRefused = error instanceof AskbackError && error.code === 'invalid_request'
    return { action: isRefused ? 'decline' : 'cancel' }
  }
}

async function askToOpenPage(
  session: SessionHandle,
  { serverName, message, url }: Elicitation,
  options: AskOptions,
): Promise<ElicitationResult> {
  const question = `${serverName} asks you to open a page: ${message}\n${url ?? ''}`
  const choices = [
    { label: DONE, description: 'I have opened the page and done what it asks.' },
    { label: 'Decline', description: 'I do not want to open it.' },
  ]
  const questions = [{ header: 'Open page', question, options: choices, multiSelect: false }]
  const settled = await session.ask({ questions, ...options })
  if (settled.settlement !== 'answered') return { action: refusalAction(settled) }
  return { action: settled.answer.answers[0]?.selected[0] === DONE ? 'accept' : 'decline' }
}

async function askWithForm(
  session: SessionHandle,
  { serverName, message, requestedSchema }: Elicitation,
  options: AskOptions,
): Promise<ElicitationResult> {
  const request = formRequest(`${serverName}: ${message}`, requestedSchema ?? {})
  const settled = await session.form({ ...request, ...options })
  if (settled.settlement !== 'answered') return { action: refusalAction(settled) }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the fields of `formRequest` have only values of these types
  return { action: 'accept', content: settled.answer.values as NonNullable<ElicitationResult['content']> }
}

/** MCP allows only flat schemas, so each property becomes one field. */
export function formRequest(message: string, schema: Schema): FormRequest {
  const properties = objectOf(schema['properties'])
  const required = listOf(schema['required'])
  const initialValues: FormValues = {}
  const fields = Object.entries(properties).map(([name, value]): FormField => {
    const property = objectOf(value)
    const type = fieldType(property)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema comes from a message in JSON
    if (isUsableDefault(property['default'], type)) initialValues[name] = property['default'] as Json
    return {
      name,
      ...pick(property, { title: 'label', description: 'description' }),
      ...type,
      required: required.includes(name),
    }
  })
  return { message, schema: { fields }, ...(Object.keys(initialValues).length > 0 && { initialValues }) }
}

function fieldType(property: Schema): FieldType {
  const choices = choicesOf(property)
  switch (property['type']) {
    case 'boolean':
      return { type: 'boolean' }
    case 'integer':
      return { type: 'number', step: 1, ...pick(property, { minimum: 'min', maximum: 'max' }) }
    case 'number':
      return { type: 'number', ...pick(property, { minimum: 'min', maximum: 'max' }) }
    case 'array':
      return { type: 'multiselect', options: choicesOf(objectOf(property['items'])) ?? [] }
    default:
      return choices ? { type: 'select', options: choices } : textType(property)
  }
}

function textType(property: Schema): FieldType {
  const limits = pick(property, { minLength: 'minLength', maxLength: 'maxLength', pattern: 'pattern' })
  switch (property['format']) {
    case 'date':
      return { type: 'date' }
    case 'date-time':
      return { type: 'datetime' }
    case 'password':
      // No field of a form may be a password, because the log would keep it. The desk refuses the form and says so.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- invalid on purpose, see above
      return { type: 'password' as 'text', ...limits }
    default:
      return { type: 'text', ...limits }
  }
}

/** A default that is none of the options is left out: the desk would refuse the whole form for it. */
function isUsableDefault(value: unknown, { options }: FieldType): boolean {
  if (value === undefined) return false
  const values: unknown[] = Array.isArray(value) ? value : [value]
  return !options || values.every((each) => options.some((option) => option.value === each))
}

function choicesOf(property: Schema): { value: string; label?: string }[] | null {
  const named = listOf(property['oneOf'] ?? property['anyOf']).map(objectOf)
  if (named.length > 0)
    return named.map((choice) => ({
      value: String(choice['const']),
      ...(typeof choice['title'] === 'string' && { label: choice['title'] }),
    }))
  const values = listOf(property['enum'])
  const names = listOf(property['enumNames'])
  if (values.length === 0) return null
  return values.map((value, index) => ({
    value: String(value),
    ...(typeof names[index] === 'string' && { label: names[index] }),
  }))
}

function refusalAction({ settlement }: Settlement<unknown>): 'decline' | 'cancel' {
  return settlement === 'denied' ? 'decline' : 'cancel'
}

/** Copies the properties that exist, from their names in the schema to those in a form's field. */
function pick(from: Schema, names: Record<string, keyof FormField>): Partial<FormField> {
  const existing = Object.entries(names).filter(([name]) => from[name] !== undefined)
  return Object.fromEntries(existing.map(([name, ours]) => [ours, from[name]]))
}
