import { requestSource } from '@askback/protocol'
import type { ApiRoute } from '../route.js'
import type { SchemaNode } from './schemas.js'

/** The headers that routes read, as parameters of the document. `Authorization` and `Askback-Proof` are security schemes. */
export const HEADERS = {
  IdempotencyKey: header(
    'Idempotency-Key',
    'A repeated request with the same key takes effect once, and gets the same response.',
    {
      minLength: 1,
      maxLength: 255,
    },
  ),
  Surface: header(
    'Askback-Surface',
    'The surface of a person’s client, for the log. Not for pages, which are `web`.',
    {
      enum: ['cli', 'terminal', 'http'],
    },
  ),
  Source: header('Askback-Source', 'The program that asks or reports, for the log.', {
    enum: [...requestSource.options],
    default: 'http',
  }),
  ToolCall: header('Askback-Tool-Call', 'The tool call whose script asks, from its environment.', {
    maxLength: 500,
  }),
  AgentThread: header(
    'Askback-Agent-Thread',
    'The agent’s own session whose script asks. Refused with 409 if this session belongs to another one.',
    { maxLength: 500 },
  ),
  LastEventId: header('Last-Event-ID', 'Resumes the stream after this `seq`; it has priority over `after`.', {
    pattern: String.raw`^\d+$`,
  }),
} as const satisfies Record<string, SchemaNode>

export type HeaderParameter = keyof typeof HEADERS

/** The surface is stored with what a person changes. */
export function headersOf({ method, allowed, headers = [] }: ApiRoute): HeaderParameter[] {
  if (method === 'GET' || allowed === 'anyone') return headers
  return ['IdempotencyKey', 'Surface', ...headers]
}

function header(name: string, description: string, schema: SchemaNode) {
  return { name, in: 'header', required: false, description, schema: { type: 'string', ...schema } }
}
