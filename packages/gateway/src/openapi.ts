import { errorCodes } from '@askback/protocol'
import { z } from 'zod'
import { type Described, type Route, route } from './route.js'

type Json = Record<string, unknown>

const error = z.object({
  error: z.object({
    code: z.enum(Object.keys(errorCodes)),
    message: z.string(),
    details: z.unknown().optional(),
  }),
})

/** Of every route that needs a credential; those with a body can refuse that, too. */
const ALWAYS = [400, 401, 403, 429, 500]
const WITH_BODY = [413, 415]
const OF_WRITES = [503]

/** OpenAPI 3.1, from the same table that the routes are made of. */
export function openApi(routes: Route[], version: string): Json {
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Askback',
      version,
      description: 'Asks people on behalf of agents, and brings back exactly what they said.',
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

function operation(route: Route): Json {
  const { name, summary, who, method, body, lines } = route
  const parameters = [
    ...parametersOf(route.params, 'path'),
    ...parametersOf(route.query, 'query'),
    ...(method === 'GET' ? [] : [IDEMPOTENCY_KEY]),
  ]
  return {
    operationId: name,
    summary,
    ...(who === 'anyone' && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: !body.safeParse(undefined).success,
        content: { ...jsonContent(schemaOf(body)), ...(lines && { 'application/x-ndjson': LINES }) },
      },
    }),
    responses: { ...answersOf(route.answers), ...errorsOf(route) },
  }
}

function answersOf(answers: Route['answers']): Json {
  return Object.fromEntries(
    Object.entries(answers).map(([status, described]) => [status, describe(described)]),
  )
}

function describe(described: Described): Json {
  if (described instanceof z.ZodType) {
    return { description: 'Done', content: jsonContent(schemaOf(described)) }
  }
  const { description, type, json } = described
  const content = { [type]: { schema: { type: 'string' } }, ...(json && jsonContent(schemaOf(json))) }
  return { description, content }
}

function errorsOf({ who, method, body, errors = [] }: Route): Json {
  const statuses = new Set([
    ...(who === 'anyone' ? [400, 403, 500, 503] : ALWAYS),
    ...(body ? WITH_BODY : []),
    ...(method === 'GET' ? [] : [...OF_WRITES, 415]),
    ...errors,
  ])
  return Object.fromEntries(
    [...statuses].sort((a, b) => a - b).map((status) => [status, errorAnswer(status)]),
  )
}

function errorAnswer(status: number): Json {
  const codes = Object.entries(errorCodes).flatMap(([code, entry]) => (entry.status === status ? [code] : []))
  return { description: codes.join(', '), content: jsonContent({ $ref: '#/components/schemas/Error' }) }
}

function parametersOf(schema: z.ZodType | undefined, where: 'path' | 'query'): Json[] {
  if (!schema) return []
  const { properties = {}, required = [] } = schemaOf(schema) as { properties?: Json; required?: string[] }
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
    description: 'The same without `items` on the first line, then each item on its own.',
  },
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { type: 'string', minLength: 1, maxLength: 255 },
}

function jsonContent(schema: Json): Json {
  return { 'application/json': { schema } }
}

/** What goes over the wire: fields may be added freely, so none is forbidden. */
function schemaOf(schema: z.ZodType): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return rest
}

/** The document describes itself, too. */
export function withOpenApi(routes: Route[], version: string): Route[] {
  const all: Route[] = [
    ...routes,
    route({
      name: 'openApi',
      method: 'GET',
      path: '/api/openapi.json',
      who: 'person',
      summary: 'This document',
      answers: { 200: z.looseObject({ openapi: z.string() }) },
      handle: () => ({ status: 200, body: document() }),
    }),
  ]
  let made: Record<string, unknown> | undefined
  const document = () => (made ??= openApi(all, version))
  return all
}
