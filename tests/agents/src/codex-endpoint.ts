import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { messagesOf, streamResponse, type InputItem } from './response-stream.js'
import { choose, filled, problemsWith, type Failure, type Scenario } from './scenario.js'
import type { Message } from './told.js'

export interface CodexEndpoint {
  readonly url: string
  /** `when` of the scenario that answered each request, and the conversation of it. */
  readonly requests: { scenario: string; messages: Message[]; tools: string[] }[]
  /** What was not as the scenarios expect: empty at the end of a test. */
  readonly problems: string[]
  of(when: string): { messages: Message[] }[]
  add(...scenarios: Scenario[]): void
  close(): Promise<void>
}

interface Body {
  input: InputItem[]
  tools?: { name?: string; type: string }[]
}

/** An OpenAI Responses endpoint on loopback that plays scenarios and checks what the model is told. */
export async function startCodexEndpoint(...initial: Scenario[]): Promise<CodexEndpoint> {
  const scenarios = [...initial]
  const requests: CodexEndpoint['requests'] = []
  const problems: string[] = []

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://endpoint')
    if (request.method !== 'POST' || pathname !== '/v1/responses')
      return refuse(response, { status: 404, type: 'not_found', message: `no ${pathname} here` })
    const { input, tools = [] } = JSON.parse(await text(request)) as Body
    const messages = messagesOf(input)
    const chosen = choose(scenarios, messages)
    if (!chosen) return wrong(response, `no scenario for ${JSON.stringify(messages.at(-1))}`)
    const { scenario, step, told } = chosen
    requests.push({ scenario: scenario.when, messages, tools: tools.map(({ name, type }) => name ?? type) })
    const next = scenario.steps[step]
    if (!next) return wrong(response, `"${scenario.when}" has no step ${step}: ${JSON.stringify(told.all)}`)
    if ('status' in next) return refuse(response, next)
    for (const problem of problemsWith(next, told))
      problems.push(`"${scenario.when}" step ${step}: ${problem}: ${JSON.stringify(told.all)}`)
    streamResponse(response, filled(next, scenario, messages))
  }

  function wrong(response: ServerResponse, problem: string): void {
    problems.push(problem)
    refuse(response, { status: 400, type: 'invalid_request_error', message: problem })
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => wrong(response, String(error)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    problems,
    of: (when) => requests.filter(({ scenario }) => scenario === when),
    add: (...more) => void scenarios.push(...more),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function refuse(response: ServerResponse, { status, type, message }: Failure): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: { type, message } }))
}
