import { errorCodes } from '@askback/protocol'
import type { ApiRoute } from '../route.js'
import { reference, type SchemaNode } from './schemas.js'

/** Error statuses of every route that needs a credential, of routes with a body, and of routes that write. */
const WITH_CREDENTIAL = [400, 401, 403, 429, 500]
const WITH_BODY = [413, 415]
const OF_WRITING = [503]

const issues = {
  type: 'array',
  description: 'Where the value does not fit its schema.',
  items: {
    type: 'object',
    properties: { path: { type: 'string' }, message: { type: 'string' } },
    required: ['path', 'message'],
  },
}
const fieldErrors = {
  type: 'object',
  description: 'What is wrong with the values of a form, by field.',
  additionalProperties: { type: 'string' },
}
const interaction = (description: string) => ({ description, $ref: reference('Interaction') })

/** By status: the name of the response, when it happens, and what `details` has beyond the codes. */
const ERRORS: Record<number, { name: string; description: string; details?: SchemaNode; retry?: true }> = {
  400: {
    name: 'BadRequest',
    description: 'The request or the answer does not fit.',
    details: { issues, errors: fieldErrors, interaction: interaction('The one that asks again.') },
  },
  401: { name: 'Unauthorized', description: 'The credential is missing, wrong or revoked.' },
  403: { name: 'Forbidden', description: 'This credential may not do this.' },
  404: { name: 'NotFound', description: 'There is no such thing, or the caller may not see it.' },
  409: {
    name: 'Conflict',
    description: 'It contradicts what is there, for example an earlier answer.',
    details: { interaction: interaction('The interaction as it was settled by somebody else.') },
  },
  413: { name: 'TooLarge', description: 'The body or the request is too large.' },
  415: { name: 'UnsupportedMediaType', description: 'The body is not JSON.' },
  429: { name: 'RateLimited', description: 'Too many: try again later.', retry: true },
  500: { name: 'InternalError', description: 'A defect of the gateway.' },
  503: {
    name: 'Unavailable',
    description: 'The gateway stops, or cannot tell whether it took effect: repeat it with the same key.',
    retry: true,
  },
}

/** References to the error responses of a route. */
export function errorResponses({ allowed, method, body, errors = [] }: ApiRoute): SchemaNode {
  const statuses = new Set([
    ...(allowed === 'anyone' ? [400, 403, 500, 503] : WITH_CREDENTIAL),
    ...(body ? WITH_BODY : []),
    ...(method === 'GET' ? [] : [...OF_WRITING, 415]),
    ...errors,
  ])
  const responses: SchemaNode = {}
  for (const status of statuses)
    responses[status] = { $ref: `#/components/responses/${ERRORS[status]!.name}` }
  return responses
}

/** One response and one schema for each status, with the codes that it can have. */
export function errorComponents(schemas: Record<string, SchemaNode>): {
  responses: SchemaNode
  schemas: SchemaNode
} {
  const all = { ...schemas }
  const responses: SchemaNode = {}
  for (const [status, { name, description, details, retry }] of Object.entries(ERRORS)) {
    const codes = Object.entries(errorCodes).flatMap(([code, entry]) =>
      entry.status === Number(status) ? [code] : [],
    )
    const schema = `${name.replace(/Error$/, '')}Error`
    Object.assign(all, { [schema]: errorSchema(codes, details) })
    responses[name] = {
      description: `${description} Codes: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
      ...(retry && { headers: { 'Retry-After': RETRY_AFTER } }),
      content: { 'application/json': { schema: { $ref: reference(schema) } } },
    }
  }
  return { responses, schemas: all }
}

const RETRY_AFTER = { description: 'Seconds to wait.', schema: { type: 'integer' } }

function errorSchema(codes: string[], details: SchemaNode | undefined): SchemaNode {
  const properties = {
    code: { type: 'string', enum: codes },
    message: { type: 'string', description: 'What happened, and what to do, in one or two sentences.' },
    details: details ? { type: 'object', properties: details } : {},
  }
  return {
    type: 'object',
    properties: { error: { type: 'object', properties, required: ['code', 'message'] } },
    required: ['error'],
  }
}
