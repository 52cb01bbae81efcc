import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { AddressInfo } from 'node:net'
import { streamReply } from './message-stream.js'
import { choose, filled, problemsWith, type Chosen, type Failure, type Scenario } from './scenario.js'
import type { Message, Told } from './told.js'

/** A request that the agent made to the model. */
export interface ModelRequest {
  /** `when` of the scenario that answered it. */
  scenario: string
  step: number
  told: Told
  system: string
  messages: Message[]
  model: string
  tools: string[]
}

export interface ClaudeEndpoint {
  readonly url: string
  /** Every request so far, in order. */
  readonly requests: ModelRequest[]
  /** What was not as the scenarios expect: empty at the end of a test. */
  readonly problems: string[]
  /** Requests of one scenario. */
  of(when: string): ModelRequest[]
  add(...scenarios: Scenario[]): void
  close(): Promise<void>
}

interface Body {
  model: string
  stream?: boolean
  system?: string | { text: string }[]
  messages: Message[]
  tools?: { name: string }[]
}

/** An Anthropic Messages endpoint on loopback that plays scenarios and checks what the model is told. */
export async function startClaudeEndpoint(...initial: Scenario[]): Promise<ClaudeEndpoint> {
  const scenarios = [...initial]
  const requests: ModelRequest[] = []
  const problems: string[] = []
  const failed = new Map<Failure, number>()

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://endpoint')
    if (request.method !== 'POST' || pathname !== '/v1/messages')
      return refuse(response, { status: 404, type: 'not_found_error', message: `no ${pathname} here` })
    const body = JSON.parse(await text(request)) as Body
    const chosen = choose(scenarios, body.messages)
    if (!chosen) return wrong(response, `no scenario for ${JSON.stringify(body.messages.at(-1))}`)
    requests.push(recordOf(body, chosen))
    play(response, chosen, body)
  }

  function play(response: ServerResponse, chosen: Chosen, { model, messages }: Body): void {
    const { scenario, step, told } = chosen
    const steps = scenario.steps.slice(step).filter((one) => !('status' in one) || !isUsedUp(one))
    const [next] = steps
    if (!next) return wrong(response, `"${scenario.when}" has no step ${step}: ${JSON.stringify(told.all)}`)
    if ('status' in next) {
      failed.set(next, (failed.get(next) ?? 0) + 1)
      return refuse(response, next)
    }
    const found = problemsWith(next, told)
    for (const problem of found)
      problems.push(`"${scenario.when}" step ${step}: ${problem}: ${JSON.stringify(told.all)}`)
    streamReply(response, filled(next, scenario, messages), model)
  }

  function isUsedUp(failure: Failure): boolean {
    return failure.times !== undefined && (failed.get(failure) ?? 0) >= failure.times
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
    of: (when) => requests.filter((request) => request.scenario === when),
    add: (...more) => void scenarios.push(...more),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function recordOf(body: Body, { scenario, step, told }: Chosen): ModelRequest {
  const { model, system = '', messages, tools = [] } = body
  return {
    scenario: scenario.when,
    step,
    told,
    system: typeof system === 'string' ? system : system.map((part) => part.text).join('\n'),
    messages,
    model,
    tools: tools.map(({ name }) => name),
  }
}

function refuse(response: ServerResponse, { status, type, message }: Failure): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ type: 'error', error: { type, message } }))
}
