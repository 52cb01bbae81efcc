import { afterEach, beforeEach, expect, it } from 'vitest'
import { Api, approval, question, startTestGateway, type TestGateway } from './testing/index.js'

interface Operation {
  operationId: string
  summary: string
  security?: unknown[]
  parameters?: { name: string; in: string; required: boolean }[]
  requestBody?: { content: { 'application/json': { schema: Schema } } }
  responses: Record<string, { description: string; content: Record<string, { schema: Schema }> }>
}
type Schema = Record<string, unknown>
interface Document {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

/** A valid body for each route that has one. */
const bodies: Record<string, object> = {
  createSession: { agent: null },
  message: { text: 'hello' },
  submitAnswers: { toolCallId: 'call', answers: { '0': 'SQLite' } },
  approve: { toolCallId: 'approved' },
  deny: { toolCallId: 'approved' },
  reportToolCall: { toolName: 'Bash', input: {} },
  reportToolResult: { output: 'done' },
  openInteraction: { ...question, toolCallId: 'another' },
  respond: { answer: { answers: [{ selected: ['SQLite'] }] } },
  progress: { answers: [] },
  receiveUpdate: {},
  setPermissionMode: { mode: 'plan' },
  setTags: { tags: { team: 'ops' } },
  createToken: { person: 'bob' },
  login: { code: 'code' },
  logout: { all: true },
}

/** Streams, which do not end by themselves. */
const streams = ['allEvents', 'webSocket']

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
  for await (const { path, operation } of operations(await read())) {
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    const described = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path')
    expect(described.map(({ name }) => name)).toEqual(inPath)
    expect(operation.summary).not.toBe('')
    for (const { description, content } of Object.values(operation.responses)) {
      expect(description).not.toBe('')
      expect(Object.keys(content).length).toBeGreaterThan(0)
    }
  }
})

it('serves every route that it describes, with a status and a body that it describes', async () => {
  const document = await read()
  const seen: string[] = []
  for await (const { path, method, operation } of operations(document)) {
    const { operationId, responses } = operation
    if (streams.includes(operationId)) continue
    const answered = await callOnce(path, method, operationId)
    const response = responses[answered.status]
    expect(
      response,
      `${operationId} answered ${answered.status}: ${JSON.stringify(answered.body)}`,
    ).toBeDefined()
    const type = String(answered.headers['content-type']).split(';', 1)[0]!
    const schema = response!.content[type]?.schema
    if (type === 'application/json') expect(problems(answered.body, schema!, document)).toEqual([])
    seen.push(`${operationId} ${answered.status}`)
  }
  // Valid requests must succeed. The exceptions: a question has no prompt, there is no agent for an adopted session, and a store in memory has no file to back up.
  expect(seen.filter((line) => /[45]\d\d$/.test(line))).toEqual([
    'adoptSession 400',
    'readPrompt 400',
    'deleteRule 404',
    'backup 400',
    'revokeToken 404',
    'pairConnector 404',
    'receiveUpdate 404',
    'loginPage 401',
    'login 401',
  ])
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

/** Checks the part of JSON Schema that the document uses for objects: required fields and their types. */
function problems(value: unknown, schema: Schema, document: Document, where = '$'): string[] {
  const {
    $ref,
    type,
    properties = {},
    required = [],
    items,
    enum: values,
  } = schema as {
    $ref?: string
    type?: string
    properties?: Record<string, Schema>
    required?: string[]
    items?: Schema
    enum?: unknown[]
  }
  if ($ref) return problems(value, document.components.schemas[$ref.split('/').at(-1)!]!, document, where)
  if (values && !values.includes(value)) return [`${where} is none of ${values.join(', ')}`]
  if (type === 'array') {
    if (!Array.isArray(value)) return [`${where} is no list`]
    return value.flatMap((item, index) => problems(item, items ?? {}, document, `${where}[${index}]`))
  }
  if (type !== 'object') return []
  if (typeof value !== 'object' || value === null) return [`${where} is no object`]
  const fields = value as Record<string, unknown>
  return [
    ...required.filter((name) => !(name in fields)).map((name) => `${where}.${name} is missing`),
    ...Object.entries(properties).flatMap(([name, each]) =>
      name in fields ? problems(fields[name], each, document, `${where}.${name}`) : [],
    ),
  ]
}
