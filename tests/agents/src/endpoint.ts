import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import {
  fillReply,
  findStep,
  problemsWith,
  type Failure,
  type Message,
  type Reply,
  type Scenario,
  type ReceivedMessages,
} from './scenario.js'

/** A request of the agent to the model. */
export interface ModelRequest {
  /** The `when` of the scenario that has answered it. */
  scenario: string
  step: number
  received: ReceivedMessages
  messages: Message[]
  tools: string[]
}

export interface Endpoint<Request extends ModelRequest = ModelRequest> {
  readonly url: string
  /** Every request so far, in order. */
  readonly requests: Request[]
  /** What the scenarios did not expect. Must be empty at the end of a test. */
  readonly problems: string[]
  /** The requests of one scenario. */
  of(when: string): Request[]
  add(...scenarios: Scenario[]): void
  close(): Promise<void>
}

/** The API of one provider of models. */
export interface Dialect<Body, More> {
  /** The path of requests to the model. A string matches as a whole. */
  path: string | RegExp
  messagesOf(body: Body): Message[]
  toolsOf(body: Body): string[]
  /** Further fields of a request that tests look at. */
  more(body: Body, pathname: string): More
  stream(response: ServerResponse, reply: Reply, body: Body): void
  /** The body of an error response. */
  errorBody(failure: Failure): object
}

/** Starts an HTTP server on loopback that plays scenarios and checks what the model receives. */
export async function startEndpoint<Body, More extends object>(
  dialect: Dialect<Body, More>,
  ...initial: Scenario[]
): Promise<Endpoint<ModelRequest & More>> {
  const scenarios = [...initial]
  const requests: (ModelRequest & More)[] = []
  const problems: string[] = []
  const failureCounts = new Map<Failure, number>()

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://endpoint')
    if (request.method !== 'POST' || !isPath(pathname, dialect.path))
      return refuse(response, { status: 404, type: 'not_found_error', message: `no ${pathname} here` })
    const body = JSON.parse(await text(request)) as Body
    const messages = dialect.messagesOf(body)
    const found = findStep(scenarios, messages)
    if (!found) return reject(response, `no scenario for ${JSON.stringify(messages.at(-1))}`)
    const { scenario, step, received } = found
    const tools = dialect.toolsOf(body)
    requests.push({
      scenario: scenario.when,
      step,
      received,
      messages,
      tools,
      ...dialect.more(body, pathname),
    })
    const [next] = scenario.steps.slice(step).filter((one) => !('status' in one) || !hasFailedEnough(one))
    if (!next)
      return reject(response, `"${scenario.when}" has no step ${step}: ${JSON.stringify(received.all)}`)
    if ('status' in next) {
      failureCounts.set(next, (failureCounts.get(next) ?? 0) + 1)
      return refuse(response, next)
    }
    for (const problem of problemsWith(next, received))
      problems.push(`"${scenario.when}" step ${step}: ${problem}: ${JSON.stringify(received.all)}`)
    dialect.stream(response, fillReply(next, scenario, messages), body)
  }

  function hasFailedEnough(failure: Failure): boolean {
    return failure.times !== undefined && (failureCounts.get(failure) ?? 0) >= failure.times
  }

  function reject(response: ServerResponse, problem: string): void {
    problems.push(problem)
    refuse(response, { status: 400, type: 'invalid_request_error', message: problem })
  }

  function refuse(response: ServerResponse, failure: Failure): void {
    response.writeHead(failure.status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(dialect.errorBody(failure)))
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => reject(response, String(error)))
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

function isPath(pathname: string, path: string | RegExp): boolean {
  return typeof path === 'string' ? pathname === path : path.test(pathname)
}
