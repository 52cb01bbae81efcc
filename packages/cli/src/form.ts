import type { Json, OpenBody } from '@askback/protocol'
import { parseArgs } from 'node:util'
import { ASKING, runAsking } from './asking/command.js'
import { jsonArgument, readJson } from './asking/json-input.js'
import { usageError } from './usage.js'

/** `askback form schema.json`: prints the values as JSON. */
export async function form(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      ...ASKING,
      message: { type: 'string' },
      values: { type: 'string' },
      default: { type: 'string' },
    },
  })
  const [path, ...more] = positionals
  if (path === undefined || more.length > 0)
    throw usageError('Usage: askback form SCHEMA.json, or - for stdin.')
  const { message, schema } = parts(readJson(path, 'The schema'))
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

/** The file holds the schema, or the whole request with its message. */
function parts(content: Json): { message?: string; schema: Json } {
  const isRequest = typeof content === 'object' && content !== null && 'schema' in content
  if (!isRequest) return { schema: content }
  const { message, schema } = content as { message?: Json; schema: Json }
  return { schema, ...(typeof message === 'string' && { message }) }
}
