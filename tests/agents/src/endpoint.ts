import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { choose, filled, problemsWith, type Failure, type Reply, type Scenario } from './scenario.js'
import type { Message, Told } from './told.js'

/** A request that the agent made to the model. */
export interface ModelRequest {
  /** `when` of the scenario that answered it. */
  scenario: string
  step: number
  told: Told
  messages: Message[]
  tools: string[]
}

export interface Endpoint<Request extends ModelRequest = ModelRequest> {
  readonly url: string
  /** Every request so far, in order. */
  readonly requests: Request[]
  /** What was not as the scenarios expect: empty at the end of a test. */
  readonly problems: string[]
  /** Requests of one scenario. */
  of(when: string): Request[]
  add(...scenarios: Scenario[]): void
  close(): Promise<void>
}

/** How one maker of models wants to be spoken to. */
export interface Dialect<Body, More> {
  path: string
  messagesOf(body: Body): Message[]
  toolsOf(body: Body): string[]
  /** What else of a request a test may want to see. */
  more(body: Body): More
  stream(response: ServerResponse, reply: Reply, body: Body): void
  /** The body of a refusal. */
  refusal(failure: Failure): object
}

/** An endpoint on loopback that plays scenarios and checks what the model is told. */
export async function startEndpoint<Body, More extends object>(
  dialect: Dialect<Body, More>,
  ...initial: Scenario[]
): Promise<Endpoint<ModelRequest & More>> {
  const scenarios = [...initial]
  const requests: (ModelRequest & More)[] = []
  const problems: string[] = []
  const failed = new Map<Failure, number>()

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://endpoint')
    if (request.method !== 'POST' || pathname !== dialect.path)
      return refuse(response, { status: 404, type: 'not_found_error', message: `no ${pathname} here` })
    const body = JSON.parse(await text(request)) as Body
    const messages = dialect.messagesOf(body)
    const chosen = choose(scenarios, messages)
    if (!chosen) return wrong(response, `no scenario for ${JSON.stringify(messages.at(-1))}`)
    const { scenario, step, told } = chosen
    const tools = dialect.toolsOf(body)
    requests.push({ scenario: scenario.when, step, told, messages, tools, ...dialect.more(body) })
    const [next] = scenario.steps.slice(step).filter((one) => !('status' in one) || !isUsedUp(one))
    if (!next) return wrong(response, `"${scenario.when}" has no step ${step}: ${JSON.stringify(told.all)}`)
    if ('status' in next) {
      failed.set(next, (failed.get(next) ?? 0) + 1)
      return refuse(response, next)
    }
    for (const problem of problemsWith(next, told))
      problems.push(`"${scenario.when}" step ${step}: ${problem}: ${JSON.stringify(told.all)}`)
    dialect.stream(response, filled(next, scenario, messages), body)
  }

  function isUsedUp(failure: Failure): boolean {
    return failure.times !== undefined && (failed.get(failure) ?? 0) >= failure.times
  }

  function wrong(response: ServerResponse, problem: string): void {
    problems.push(problem)
    refuse(response, { status: 400, type: 'invalid_request_error', message: problem })
  }

  function refuse(response: ServerResponse, failure: Failure): void {
    response.writeHead(failure.status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(dialect.refusal(failure)))
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
