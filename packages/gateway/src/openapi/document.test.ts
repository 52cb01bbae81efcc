import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Api, approval, question, startTestGateway, type TestGateway } from '../testing/index.js'
import { HEADERS } from './headers.js'

interface Operation {
  operationId: string
  summary: string
  security?: unknown[]
  parameters?: ({ name: string; in: string; required: boolean } | { $ref: string })[]
  requestBody?: {
    content: { 'application/json': { schema: Schema; examples?: Record<string, { value: unknown }> } }
  }
  tags: string[]
  responses: Record<string, Response | { $ref: string }>
}
interface Response {
  description: string
  content: Record<string, { schema: Schema }>
}
type Schema = Record<string, unknown>
interface Document {
  openapi: string
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema>; responses: Record<string, Response> }
}

/** A valid body for each route that has one. */
const bodies: Record<string, object> = {
  createSession: { agent: null },
  sendMessage: { text: 'hello' },
  submitAnswers: { toolCallId: 'call', answers: { '0': 'SQLite' } },
  approve: { toolCallId: 'approved' },
  deny: { toolCallId: 'approved' },
  reportToolCall: { toolName: 'Bash', input: {} },
  reportToolResult: { output: 'done' },
  openInteraction: { ...question, toolCallId: 'another' },
  respond: { answer: { answers: [{ selected: ['SQLite'] }] } },
  saveProgress: { answers: [] },
  receiveUpdate: {},
  setPermissionMode: { mode: 'plan' },
  setTags: { tags: { team: 'ops' } },
  createToken: { person: 'bob' },
  login: { code: 'code' },
  logout: { all: true },
  runAgui: { threadId: 'thread', runId: 'run', messages: [], forwardedProps: { agent: null } },
}

/** Streams, which do not end by themselves. */
const streams = ['streamAllEvents', 'openWebSocket']

let gateway: TestGateway
let person: Api
beforeEach(async () => {
  gateway = await startTestGateway({ listen: false })
  person = new Api(gateway)
})
afterEach(() => gateway.close())

const read = async () => (await person.get<Document>('/api/openapi.json')).body

async function* operations(document: Document) {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods))
      yield { path, method: method.toUpperCase(), operation }
  }
}

it('is an OpenAPI 3.1 document in which each operation id is unique', async () => {
  const document = await read()
  expect(document.openapi).toBe('3.1.0')
  const names = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  )
  expect(new Set(names).size).toBe(names.length)
  expect(names.length).toBeGreaterThan(25)
})

it('describes each parameter and each response', async () => {
  const document = await read()
  for await (const { path, operation } of operations(document)) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    const described = (operation.parameters ?? []).flatMap((parameter) =>
      'in' in parameter && parameter.in === 'path' ? [parameter.name] : [],
    )
    expect(described).toEqual(inPath)
    expect(operation.summary).not.toBe('')
    expect(document.tags.map(({ name }) => name)).toEqual(expect.arrayContaining(operation.tags))
    for (const status of Object.keys(operation.responses)) {
      const { description, content } = responseOf(document, operation, status)
      expect(description).not.toBe('')
      if (status !== '304') expect(Object.keys(content).length).toBeGreaterThan(0)
    }
  }
})

it('serves every route that it describes, with a status and a body that it describes', async () => {
  const document = await read()
  const problems = validator(document)
  const seen: string[] = []
  for await (const { path, method, operation } of operations(document)) {
    const { operationId } = operation
    if (streams.includes(operationId)) continue
    const answered = await callOnce(path, method, operationId)
    const response = responseOf(document, operation, String(answered.status))
    expect(
      response,
      `${operationId} answered ${answered.status}: ${JSON.stringify(answered.body)}`,
    ).toBeDefined()
    const type = String(answered.headers['content-type']).split(';', 1)[0]!
    const schema = response.content[type]?.schema
    if (type === 'application/json') expect(problems(answered.body, schema!)).toEqual([])
    seen.push(`${operationId} ${answered.status}`)
  }
  // Valid requests must succeed. The exceptions: a question has no prompt, there is no agent for an adopted session, and a store in memory has no file to back up.
  expect(seen.filter((line) => /[45]\d\d$/.test(line))).toEqual([
    'adoptSession 400',
    'readPrompt 400',
    'readRenderer 404',
    'deleteRule 404',
    'revokeToken 404',
    'showLoginPage 401',
    'login 401',
    'pairConnector 404',
    'receiveUpdate 404',
    'downloadBackup 400',
  ])
})

it('describes every header that pages of other origins may send', async () => {
  const allowed = await startTestGateway({ config: { allowedOrigins: ['https://example.com'] } })
  const preflight = await new Api(allowed, null).send('OPTIONS', '/api/sessions', undefined, {
    origin: 'https://example.com',
    'access-control-request-method': 'POST',
  })
  await allowed.close()
  const headers = String(preflight.headers['access-control-allow-headers']).split(', ')
  const own = headers.filter((name) => !/^(Authorization|Content-Type|Mcp-.*)$/.test(name))
  expect(
    Object.values(HEADERS)
      .map(({ name }) => name)
      .sort(),
  ).toEqual(own.sort())
})

it('accepts every body that it has as an example', async () => {
  const document = await read()
  const opened = new Map<string, string>()
  const send = async (name: string, path: string, value: unknown) => {
    const { body, status } = await person.post<{ interaction?: { interactionId: string } }>(path, value)
    expect([200, 201, 202], `${name}: ${JSON.stringify(body)}`).toContain(status)
    return body
  }
  const examples = (path: string) =>
    Object.entries(document.paths[path]!['post']!.requestBody!.content['application/json'].examples!)
  for (const [name, { value }] of examples('/api/sessions'))
    if (name !== 'demo') await send(name, '/api/sessions', value)
  const id = await person.session()
  for (const [name, { value }] of examples('/api/sessions/{id}/interactions')) {
    const { interaction } = await send(name, `/api/sessions/${id}/interactions`, value)
    opened.set(name, interaction!.interactionId)
  }
  for (const [name, { value }] of examples('/api/sessions/{id}/interactions/{interactionId}/response'))
    await send(name, `/api/sessions/${id}/interactions/${opened.get(name)}/response`, value)
  for (const route of ['messages', 'tool-calls'])
    for (const [name, { value }] of examples(`/api/sessions/{id}/${route}`))
      await send(name, `/api/sessions/${id}/${route}`, value)
})

it('refuses with errors that match the document', async () => {
  const document = await read()
  for await (const { path, method, operation } of operations(document)) {
    if (!operation.requestBody) continue
    const url = await fill(path)
    const answered = await person.send(method, url, [])
    // There is no connector, which is checked before the body is read.
    const [status, code] =
      operation.operationId === 'receiveUpdate' ? [404, 'not_found'] : [400, 'invalid_request']
    expect({ operation: operation.operationId, ...answered }).toMatchObject({
      status,
      body: { error: { code } },
    })
    expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['400', '413', '415']))
  }
})

/** Each route gets its own session, because some end what the next one needs. */
async function callOnce(path: string, method: string, operationId: string) {
  return person.send<unknown>(method, await fill(path), bodies[operationId], { accept: 'application/json' })
}

async function fill(path: string): Promise<string> {
  const id = await person.session()
  const { interactionId } = await person.open(id)
  await person.open(id, { ...approval, toolCallId: 'approved' })
  await person.post(`/api/sessions/${id}/tool-calls`, { toolCallId: 'reported', toolName: 'Bash', input: {} })
  return path
    .replace('/sessions/{id}', `/sessions/${id}`)
    .replace('{interactionId}', interactionId)
    .replace('{toolCallId}', 'reported')
    .replaceAll(/\{\w+\}/g, 'nothing')
}

function responseOf(document: Document, { responses }: Operation, status: string): Response {
  const response = responses[status]!
  return '$ref' in response ? document.components.responses[response.$ref.split('/').at(-1)!]! : response
}

/** Checks values with the schemas of the document. */
function validator(document: Document): (value: unknown, schema: Schema) => string[] {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ajv.addSchema({ components: document.components }, 'document')
  return (value, schema) => {
    const isValid = ajv.validate({ $ref: `document${String(schema['$ref'])}` }, value)
    return isValid ? [] : (ajv.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
  }
}
