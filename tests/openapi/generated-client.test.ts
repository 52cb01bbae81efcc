import { defineInteraction, memoryStore } from '@askback/core'
import { createAskback, type EmbeddedAskback } from '@askback/gateway'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as z from 'zod'

const TOOLS = join(import.meta.dirname, '../../tools')
/** Below the packages that the client imports. */
const FOLDER = join(TOOLS, 'node_modules/.cache/generated-client')
const PREFIX = '/tools/askback'

interface ClientProgram {
  useGateway(options: { baseUrl: string; token: string; fetch?: typeof fetch }): Promise<object>
}

const timeSlot = defineInteraction({
  kind: 'time_slot',
  presentation: 'questionnaire',
  request: z.object({ days: z.array(z.string()).min(1) }),
  answer: z.object({ day: z.string() }),
})

/** Each program makes a session of its own, with keys of its own, so both can use the same gateway. */
let askback: EmbeddedAskback
let url: string
let mounted: (request: Request) => Promise<Response>
beforeAll(async () => {
  // The client of the stream may leave its connection half open, which a drain would wait for.
  const config = { drainMs: 100 }
  askback = createAskback({ store: memoryStore(), kinds: [timeSlot], token: 'token', webApp: null, config })
  url = (await askback.serve()).url
  const { GET, POST, DELETE } = askback.fetchHandlers({ prefix: PREFIX })
  mounted = (request) => ({ GET, POST, DELETE })[request.method as 'GET'](request)
})
afterAll(() => askback.close())

const tokenHeader = { authorization: 'Bearer token' }
const readDocument = async () =>
  (await (await fetch(`${url}/api/openapi.json`, { headers: tokenHeader })).json()) as object
const readMounted = async () => {
  const request = new Request(`http://localhost${PREFIX}/api/openapi.json`, { headers: tokenHeader })
  return (await (await mounted(request)).json()) as { servers: { url: string }[] }
}

describe('the OpenAPI document', () => {
  it.each([
    ['of a gateway with a custom kind', readDocument],
    ['of one under a prefix of another server', readMounted],
  ])('%s is valid', async (_, read) => {
    expect(await lint(await read())).toEqual([
      // It upgrades the connection.
      'operation-2xx-response #/paths/~1api~1ws/get/responses',
    ])
  })

  it('becomes a client that can ask, answer, wait, list and stream', async () => {
    const program = await compiledProgram()
    const expected = {
      outcomes: ['Which one? two', 'deny no', 'edit', '{"port":8080}', 'Tue'],
      pending: ['plan_review'],
      responses: [
        'question answered',
        'approval denied',
        'plan_review approved',
        'form answered',
        'time_slot answered',
        'plan_review cancelled',
      ],
      firstStreamed: 'session_started',
    }
    expect(await program.useGateway({ baseUrl: url, token: 'token' })).toEqual(expected)
    const [server] = (await readMounted()).servers
    const baseUrl = new URL(server!.url, 'http://localhost').href
    expect(
      await program.useGateway({ baseUrl, token: 'token', fetch: (input) => mounted(input as Request) }),
    ).toEqual(expected)
  })
})

/** The problems that the validator finds, with its strictest rules. */
async function lint(document: object): Promise<string[]> {
  const { createConfig, lintFromString } = await tool<{
    createConfig: (options: object) => Promise<object>
    lintFromString: (options: object) => Promise<{ ruleId: string; location: { pointer?: string }[] }[]>
  }>('@redocly/openapi-core')
  const config = await createConfig({ extends: ['recommended-strict'] })
  const problems = await lintFromString({ source: JSON.stringify(document), config })
  return problems.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`)
}

/** Generates the types from the live document, and compiles the program with them. */
async function compiledProgram(): Promise<ClientProgram> {
  const generator = await tool<{
    default(document: object): Promise<object[]>
    astToString(ast: object[]): string
  }>('openapi-typescript')
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(join(FOLDER, 'package.json'), '{"type":"module"}')
  writeFileSync(
    join(FOLDER, 'schema.d.ts'),
    generator.astToString(await generator.default(await readDocument())),
  )
  cpSync(join(import.meta.dirname, 'client-program.mts'), join(FOLDER, 'program.mts'))
  expect(compile(join(FOLDER, 'program.mts'))).toEqual([])
  return (await import(pathToFileURL(join(FOLDER, 'program.mjs')).href)) as ClientProgram
}

/** Writes the JavaScript beside the source, and returns the errors. The workspace's own compiler has no API. */
function compile(file: string): string[] {
  const ts = createRequire(join(TOOLS, 'package.json'))('typescript') as {
    createProgram(files: string[], options: object): { emit(): { diagnostics: Diagnostic[] } }
    getPreEmitDiagnostics(program: object): Diagnostic[]
    flattenDiagnosticMessageText(text: unknown, newLine: string): string
  }
  const options = {
    module: 199,
    target: 9,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
    strict: true,
    types: [],
  }
  const program = ts.createProgram([file], options)
  const problems = [...ts.getPreEmitDiagnostics(program), ...program.emit().diagnostics]
  return problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}

interface Diagnostic {
  messageText: unknown
}

async function tool<Module>(name: string): Promise<Module> {
  const path = createRequire(join(TOOLS, 'package.json')).resolve(name)
  return (await import(pathToFileURL(path).href)) as Module
}
