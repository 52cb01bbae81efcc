import type { AskOptions, SessionHandle, Settlement } from '@askback/core'
import type { FormField, FormRequest, FormValues, Json } from '@askback/protocol'

/** What a server of the Model Context Protocol asks. */
export interface Elicitation {
  serverName: string
  message: string
  mode?: 'form' | 'url'
  url?: string
  elicitationId?: string
  requestedSchema?: Record<string, unknown>
}

export interface ElicitationResult {
  action: 'accept' | 'decline' | 'cancel'
  content?: Record<string, string | number | boolean | string[]>
  [key: string]: unknown
}

type Schema = Record<string, unknown>
type FieldType = Pick<FormField, 'type'> & Partial<FormField>

const DONE = 'Done'

/** What an MCP server asks of a person: a form, or a visit to a page, which is a question whether that is done. */
export async function elicit(
  session: SessionHandle,
  request: Elicitation,
  options: AskOptions,
): Promise<ElicitationResult> {
  const { serverName, message, mode, url, requestedSchema } = request
  if (mode === 'url') {
    const question = `${serverName} asks you to open a page: ${message}\n${url ?? ''}`
    const choices = [
      { label: DONE, description: 'I have opened the page and done what it asks.' },
      { label: 'Decline', description: 'I do not want to open it.' },
    ]
    const questions = [{ header: 'Open page', question, options: choices, multiSelect: false }]
    const settled = await session.ask({ questions, ...options })
    if (settled.settlement !== 'answered') return { action: actionOf(settled) }
    return { action: settled.answer.answers[0]?.selected[0] === DONE ? 'accept' : 'decline' }
  }
  const settled = await session.form({
    ...formRequest(`${serverName}: ${message}`, requestedSchema ?? {}),
    ...options,
  })
  if (settled.settlement !== 'answered') return { action: actionOf(settled) }
  return { action: 'accept', content: contentOf(settled.answer.values) }
}

/** A flat JSON schema of the Model Context Protocol as a form. */
export function formRequest(message: string, schema: Schema): FormRequest {
  const properties = objectOf(schema['properties'])
  const required = listOf(schema['required'])
  const initialValues: FormValues = {}
  const fields = Object.entries(properties).map(([name, value]): FormField => {
    const property = objectOf(value)
    const type = fieldType(property)
    if (isDefault(property['default'], type)) initialValues[name] = property['default'] as Json
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
      // Refused by the form, in words that say why: what is typed there stays in the log.
      return { type: 'password' as 'text', ...limits }
    default:
      return { type: 'text', ...limits }
  }
}

/** A server's mistake must not keep its form from being asked. */
function isDefault(value: unknown, { options }: FieldType): boolean {
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

function contentOf(values: FormValues): NonNullable<ElicitationResult['content']> {
  return values as NonNullable<ElicitationResult['content']>
}

function actionOf({ settlement }: Settlement<unknown>): 'decline' | 'cancel' {
  return settlement === 'denied' ? 'decline' : 'cancel'
}

/** The properties that are there, under the names that a form has for them. */
function pick(from: Schema, names: Record<string, keyof FormField>): Partial<FormField> {
  const found = Object.entries(names).filter(([name]) => from[name] !== undefined)
  return Object.fromEntries(found.map(([name, ours]) => [ours, from[name]]))
}

function objectOf(value: unknown): Schema {
  return typeof value === 'object' && value !== null ? (value as Schema) : {}
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : []
}
