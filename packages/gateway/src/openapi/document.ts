import type { InteractionKind } from '@askback/core'
import * as z from 'zod'
import { prefixOf } from '../mount/mount.js'
import { route, type AllowedCallers, type ApiRoute, type ResponseContent } from '../route.js'
import { errorComponents, errorResponses } from './errors.js'
import { EXAMPLES } from './examples.js'
import { withKinds } from './kind-schemas.js'
import { HEADERS, headersOf } from './headers.js'
import { nameSchemas, schemaOf, type SchemaNode, type NamedSchemas } from './schemas.js'
import { API_TAGS } from './tags.js'

/** What one gateway's document depends on, apart from its routes. */
export interface OpenApiOptions {
  version: string
  kinds: readonly InteractionKind[]
  cookieName: string
}

/** The OpenAPI 3.1 document, from the same table as the routes. */
function openApi(routes: ApiRoute[], { version, kinds, cookieName }: OpenApiOptions): SchemaNode {
  const named = nameSchemas(routes)
  const paths: Record<string, SchemaNode> = {}
  for (const each of routes) {
    const path = each.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [each.method.toLowerCase()]: operation(each, named) }
  }
  const used = new Set(routes.map(({ tag }) => tag))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Askback',
      version,
      summary: 'Asks people on behalf of agents, and returns exactly what they answered.',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: API_TAGS.filter(({ name }) => used.has(name)),
    security: [{ bearer: [] }, { cookie: [], proof: [] }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'The token of a person or of an agent.' },
        cookie: {
          type: 'apiKey',
          in: 'cookie',
          name: cookieName,
          description: 'The login of a browser. It counts only together with its proof.',
        },
        proof: {
          type: 'apiKey',
          in: 'header',
          name: 'Askback-Proof',
          description: 'The `proof` that the login returned. It never leaves the origin of the page.',
        },
      },
      parameters: HEADERS,
      ...errorComponents(withKinds(named.schemas, kinds)),
    },
  }
}

const DESCRIPTION =
  'Open an interaction in a session, wait for its settlement, and act on it. A timeout, a cancellation and a denial are ' +
  'different settlements, and none of them looks like an answer. Ignore fields, event types and values that you do not know: later ' +
  'versions may add some.'

const CALLERS: Record<AllowedCallers, string> = {
  anyone: 'Needs no credential.',
  person: 'For people only.',
  agent: 'For people, and for agents in their own sessions.',
  outside_agent: 'For people, and for agents that run elsewhere.',
  any_agent: 'For people and agents.',
}

function operation(spec: ApiRoute, named: NamedSchemas): SchemaNode {
  const { name, tag, summary, allowed, body, lines } = spec
  const parameters = [
    ...parametersOf(spec.params, 'path'),
    ...parametersOf(spec.query, 'query'),
    ...headersOf(spec).map((header) => ({ $ref: `#/components/parameters/${header}` })),
  ]
  return {
    operationId: name,
    ...(tag !== undefined && { tags: [tag] }),
    summary,
    description: CALLERS[allowed],
    ...(allowed === 'anyone' && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: !body.safeParse(undefined).success,
        content: {
          ...jsonContent(named.refTo(body), EXAMPLES[name]),
          ...(lines && { 'application/x-ndjson': LINES }),
        },
      },
    }),
    responses: { ...responsesOf(spec, named), ...errorResponses(spec) },
  }
}

function responsesOf({ method, responses }: ApiRoute, named: NamedSchemas): SchemaNode {
  return Object.fromEntries(
    Object.entries(responses).map(([status, content]) => [
      status,
      describeResponse(content, named, textOf(method, status)),
    ]),
  )
}

function describeResponse(content: ResponseContent, named: NamedSchemas, text: string): SchemaNode {
  if (content instanceof z.ZodType) return { description: text, content: jsonContent(named.refTo(content)) }
  const { description, types, json, headers } = content
  return {
    description,
    ...(headers && {
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, text]) => [
          name,
          { description: text, schema: { type: 'string' } },
        ]),
      ),
    }),
    content: {
      ...Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }])),
      ...(json && jsonContent(named.refTo(json))),
    },
  }
}

function textOf(method: ApiRoute['method'], status: string): string {
  if (status === '201') return 'Created'
  if (status === '202') return 'Accepted, and stored'
  return method === 'GET' ? 'Found' : 'Done, now or by an earlier request with the same key'
}

function parametersOf(schema: z.ZodType | undefined, where: 'path' | 'query'): SchemaNode[] {
  if (!schema) return []
  const { properties = {}, required = [] } = schemaOf(schema) as {
    properties?: Record<string, QueryParameter>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, sentAs, ...each }]) => ({
    name,
    in: where,
    required: where === 'path' || required.includes(name),
    ...(description !== undefined && { description }),
    schema: sentAs ?? each,
  }))
}

/** A number arrives as text; `sentAs` describes the number. */
type QueryParameter = SchemaNode & { description?: string; sentAs?: SchemaNode }

const LINES = {
  schema: {
    type: 'string',
    description: 'On the first line the same object without `items`, then one line per item.',
  },
}

function jsonContent(schema: SchemaNode, examples?: SchemaNode): SchemaNode {
  return { 'application/json': { schema, ...(examples && { examples }) } }
}

/** Adds the route of the document, which the document describes, too. */
export function withOpenApi(routes: ApiRoute[], options: OpenApiOptions): ApiRoute[] {
  const all: ApiRoute[] = [
    ...routes,
    {
      ...route({
        name: 'readOpenApi',
        method: 'GET',
        path: '/api/openapi.json',
        allowed: 'person',
        action: 'harmless',
        summary: 'Returns this document',
        responses: { 200: z.looseObject({ openapi: z.string() }) },
        handle({ request }) {
          const prefix = prefixOf(request.raw)
          const body = prefix === '' ? document() : { ...document(), servers: [{ url: prefix }] }
          return { status: 200, body }
        },
      }),
      tag: 'Operations',
    },
  ]
  let cached: SchemaNode | undefined
  const document = () => (cached ??= openApi(all, options))
  return all
}
