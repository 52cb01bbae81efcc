import { McpServer, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { KindDescription } from '@askback/protocol'
import { AskCalls } from './ask-calls.js'
import type { RequestPort } from './request-port.js'
import { createRequestStates } from './request-state.js'
import { serveTasks, TASKS_EXTENSION } from './tasks.js'
import { askTools, customTool, type Arguments, type AskTool } from './tools.js'
import { waitForAnswerTool } from './wait-for-answer.js'

const PROGRESS_INTERVAL_MS = 10_000
const POLL_INTERVAL_MS = 2000

/** Clients add this to the model's context. */
const INSTRUCTIONS =
  'Askback brings your requests to a person and returns exactly what they said. Use ask_user when you need a decision or ' +
  'a fact that only the user has, request_approval before you do something that needs permission, and review_plan before ' +
  'you carry out a plan. A person may take minutes. If a result says that it is still waiting, call wait_for_answer with the ' +
  'id in it, as often as needed, instead of asking again. If nobody answers, the result says so: do not assume an answer or ' +
  'a permission.'

/** Options of `createAskServer`. */
export interface AskServerOptions {
  /** The version that the server reports. */
  version: string
  /** Opens requests, waits for them, and finds them again. */
  requests: RequestPort
  /**
   * The custom kinds of the gateway. Each becomes a tool: `ask_` and its name, or `ask__` if a tool has that name.
   * @default none
   */
  kinds?: () => Promise<KindDescription[]> | KindDescription[]
  /**
   * How long a call waits for a person before its result says “still waiting”, in milliseconds; `null` for as long as it takes. Most
   * clients give up a call after 60 seconds.
   * @default 45000; `null` for clients that are known to wait while they get progress
   */
  waitMs?: number | null | undefined
  /** The client's name, if the server does not see its `initialize` request, as over HTTP. */
  clientName?: string | undefined
  /**
   * Signs the state that newer clients send back. It must be the same in all processes that a client may reach.
   * @default a random key, so that a client cannot continue a call after a restart
   */
  stateKey?: string | undefined
  /**
   * The interval of progress notifications, in milliseconds.
   * @default 10000
   */
  progressMs?: number | undefined
  /**
   * How often clients should ask for the state of a task, in milliseconds.
   * @default 2000
   */
  pollMs?: number | undefined
}

/**
 * An MCP server whose tools ask a person. If a request cannot be opened, the tool returns an error to the model. A request outlives
 * the call that opened it: the client gets its settlement from `wait_for_answer`, by repeating the call (2026-07-28), or as a task.
 *
 * @example
 * serveStdio(() => createAskServer({ version: '1.0.0', requests })) // of `@modelcontextprotocol/server/stdio`
 */
export function createAskServer(options: AskServerOptions): McpServer {
  const { version, requests, kinds = () => [], waitMs, clientName, stateKey } = options
  const { progressMs = PROGRESS_INTERVAL_MS, pollMs = POLL_INTERVAL_MS } = options
  const states = createRequestStates(stateKey)
  const mcp = new McpServer(
    { name: 'askback', title: 'Askback', version },
    {
      capabilities: { tools: {}, extensions: { [TASKS_EXTENSION]: {} } },
      instructions: INSTRUCTIONS,
      requestState: { verify: (state, context) => states.verify(state, context) },
    },
  )
  const { server } = mcp
  const calls = new AskCalls({
    requests,
    states,
    waitMs,
    progressMs,
    pollMs,
    // oxlint-disable-next-line typescript/no-deprecated -- for clients before 2026-07-28, which send their name only once
    clientName: () => clientName ?? server.getClientVersion()?.name,
  })
  // `McpServer.registerTool` checks arguments and describes what is wrong in its own words; the desk does that for every surface.
  const allTools = async () => [...askTools, ...(await kinds()).map(customTool)]
  server.setRequestHandler('tools/list', async () => ({
    tools: [...(await allTools()).map(describeTool), waitForAnswerTool],
  }))
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the transport has parsed them from JSON
    const given = (params.arguments ?? {}) as Arguments
    if (params.name === waitForAnswerTool.name) return calls.waitForAnswer(given, context)
    const isNamed = ({ name }: AskTool) => name === params.name
    const tool = askTools.find(isNamed) ?? (await allTools()).find(isNamed)
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${params.name}.`)
    return calls.ask(tool, given, context)
  })
  serveTasks(mcp, { requests, pollMs })
  return mcp
}

function describeTool({ name, title, description, inputSchema, annotations }: AskTool) {
  return { name, title, description, inputSchema, ...(annotations && { annotations }) }
}
