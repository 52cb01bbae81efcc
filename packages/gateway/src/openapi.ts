import { errorCodes } from '@askback/protocol'
import * as z from 'zod'
import { prefixOf } from './mount/mount.js'
import { type ResponseContent, type ApiRoute, route } from './route.js'

type OpenApiNode = Record<string, unknown>

const error = z.object({
  error: z.object({
    code: z.enum(Object.keys(errorCodes)),
    message: z.string(),
    details: z.unknown().optional(),
  }),
})

/** Error statuses of every route that needs a credential, of routes with a body, and of routes that write. */
const WITH_CREDENTIAL = [400, 401, 403, 429, 500]
const WITH_BODY = [413, 415]
const OF_WRITING = [503]

/** The OpenAPI 3.1 document, from the same table as the routes. */
function openApi(routes: ApiRoute[], version: string): OpenApiNode {
  const paths: Record<string, OpenApiNode> = {}
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Askback',
      version,
      description: 'Asks people on behalf of agents, and returns exactly what they answered.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, { cookie: [], proof: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        cookie: { type: 'apiKey', in: 'cookie', name: 'askback' },
        proof: { type: 'apiKey', in: 'header', name: 'Askback-Proof' },
      },
      schemas: { Error: schemaOf(error) },
    },
  }
}

function operation(route: ApiRoute): OpenApiNode {
  const { name, summary, allowed, method, body, lines } = route
  const parameters = [
    ...parametersOf(route.params, 'path'),
    ...parametersOf(route.query, 'query'),
    ...(method === 'GET' ? [] : [IDEMPOTENCY_KEY]),
  ]
  return {
    operationId: name,
    summary,
    ...(allowed === 'anyone' && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: !body.safeParse(undefined).success,
        content: { ...jsonContent(schemaOf(body)), ...(lines && { 'application/x-ndjson': LINES }) },
      },
    }),
    responses: { ...responsesOf(route.responses), ...errorsOf(route) },
  }
}

function responsesOf(responses: ApiRoute['responses']): OpenApiNode {
  return Object.fromEntries(
    Object.entries(responses).map(([status, described]) => [status, describe(described)]),
  )
}

function describe(described: ResponseContent): OpenApiNode {
  if (described instanceof z.ZodType) {
    return { description: 'Success', content: jsonContent(schemaOf(described)) }
  }
  const { description, type, json } = described
  const content = { [type]: { schema: { type: 'string' } }, ...(json && jsonContent(schemaOf(json))) }
  return { description, content }
}

function errorsOf({ allowed, method, body, errors = [] }: ApiRoute): OpenApiNode {
  const statuses = new Set([
    ...(allowed === 'anyone' ? [400, 403, 500, 503] : WITH_CREDENTIAL),
    ...(body ? WITH_BODY : []),
    ...(method === 'GET' ? [] : [...OF_WRITING, 415]),
    ...errors,
  ])
  return Object.fromEntries(
    [...statuses].sort((a, b) => a - b).map((status) => [status, errorResponse(status)]),
  )
}

function errorResponse(status: number): OpenApiNode {
  const codes = Object.entries(errorCodes).flatMap(([code, entry]) => (entry.status === status ? [code] : []))
  return { description: codes.join(', '), content: jsonContent({ $ref: '#/components/schemas/Error' }) }
}

function parametersOf(schema: z.ZodType | undefined, where: 'path' | 'query'): OpenApiNode[] {
  if (!schema) return []
  const { properties = {}, required = [] } = schemaOf(schema) as {
    properties?: OpenApiNode
    required?: string[]
  }
  return Object.entries(properties).map(([name, each]) => ({
    name,
    in: where,
    required: where === 'path' || required.includes(name),
    schema: each,
  }))
}

const LINES = {
  schema: {
    type: 'string',
    description: 'On the first line the same object without `items`, then one line per item.',
  },
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { type: 'string', minLength: 1, maxLength: 255 },
}

function jsonContent(schema: OpenApiNode): OpenApiNode {
  return { 'application/json': { schema } }
}

/** The schema of the input. Additional fields are allowed, because later versions may add some. */
function schemaOf(schema: z.ZodType): OpenApiNode {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return rest
}

/** Adds the route of the document, which the document describes, too. */
export function withOpenApi(routes: ApiRoute[], version: string): ApiRoute[] {
  const all: ApiRoute[] = [
    ...routes,
    route({
      name: 'openApi',
      method: 'GET',
      path: '/api/openapi.json',
      allowed: 'person',
      action: 'harmless',
      summary: 'This document',
      responses: { 200: z.looseObject({ openapi: z.string() }) },
      handle({ request }) {
        const prefix = prefixOf(request.raw)
        const body = prefix === '' ? document() : { ...document(), servers: [{ url: prefix }] }
        return { status: 200, body }
      },
    }),
  ]
  let cached: OpenApiNode | undefined
  const document = () => (cached ??= openApi(all, version))
  return all
}
