import { parseArgs } from 'node:util'
import { ASKING, runAsking } from './asking/command.js'
import { jsonArgument } from './asking/json-input.js'
import { usageError } from './usage.js'

/** `askback request-approval --tool deploy --input @file`: ends with 0 if it was approved, with 3 if not. */
export async function requestApproval(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      ...ASKING,
      tool: { type: 'string' },
      input: { type: 'string', default: '{}' },
      title: { type: 'string' },
      description: { type: 'string' },
      reason: { type: 'string' },
    },
  })
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
