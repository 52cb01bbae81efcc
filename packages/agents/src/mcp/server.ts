import {
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
} from '@modelcontextprotocol/server'
import { errorMessage, type Interaction, type OpenBody } from '@askback/protocol'
import { askTools, type Arguments, type AskTool } from './tools.js'

/** The field of `_meta` in which Claude Code sends the id of its tool call. */
const CLAUDE_CALL_ID = 'claudecode/toolUseId'
const PROGRESS_INTERVAL_MS = 10_000

/** Clients add this to the model's context. */
const INSTRUCTIONS =
  'Askback brings your requests to a person and returns exactly what they said. Use ask_user when you need a decision or ' +
  'a fact that only the user has, request_approval before you do something that needs permission, and review_plan before ' +
  'you carry out a plan. Each call waits until the person answers, which can take minutes. If nobody answers, the result ' +
  'says so: do not assume an answer or a permission.'

/** Options of `createAskServer`. */
export interface AskServerOptions {
  /** The version that the server reports. */
  version: string
  /** Opens an interaction, calls `onPending` if it is pending, and resolves when it is settled. An abort cancels it. */
  ask: (
    body: OpenBody,
    options: { signal: AbortSignal; onPending: (item: Interaction) => void },
  ) => Promise<Interaction>
  /**
   * The interval of progress notifications, in milliseconds. Most clients give up on a tool that is silent for a minute.
   * @default 10000
   */
  progressMs?: number
}

/**
 * An MCP server whose tools ask a person. If a request cannot be opened, the tool returns an error to the model.
 *
 * @example
 * serveStdio(() => createAskServer({ version: '1.0.0', ask })) // of `@modelcontextprotocol/server/stdio`
 */
export function createAskServer({
  version,
  ask,
  progressMs = PROGRESS_INTERVAL_MS,
}: AskServerOptions): McpServer {
  const mcp = new McpServer(
    { name: 'askback', title: 'Askback', version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  )
  // `McpServer.registerTool` checks arguments and describes what is wrong in its own words; the desk does that for every surface.
  const { server } = mcp
  server.setRequestHandler('tools/list', () => ({ tools: askTools.map(describeTool) }))
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const tool = askTools.find(({ name }) => name === params.name)
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${params.name}.`)
    const { signal, _meta: meta } = mcpReq
    const token = meta?.progressToken
    const progress =
      token === undefined
        ? null
        : new ProgressNotifier(progressMs, (count) =>
            mcpReq.notify({
              method: 'notifications/progress',
              params: { progressToken: token, progress: count, message: 'Waiting for a person to answer' },
            }),
          )
    try {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the transport has parsed them from JSON
      const given = (params.arguments ?? {}) as Arguments
      const callId = meta?.[CLAUDE_CALL_ID]
      const body = { ...(typeof callId === 'string' && { toolCallId: callId }), ...tool.request(given) }
      const item = await ask(body, { signal, onPending: () => progress?.start() })
      return toolResult(tool.describeSettlement(given, item), item)
    } catch (error) {
      return errorResult(tool, error)
    } finally {
      progress?.stop()
    }
  })
  return mcp
}

function describeTool({ name, title, description, inputSchema, annotations }: AskTool) {
  return { name, title, description, inputSchema, ...(annotations && { annotations }) }
}

/** The interaction is in `_meta`, not in `structuredContent`: clients would show that to the model in place of the text. */
function toolResult(text: string, item: Interaction): CallToolResult {
  const { settlement, answer, message, interactionId, delivered } = item
  const interaction = {
    interactionId,
    settlement,
    ...(delivered && { delivered }),
    ...(answer !== undefined && { answer }),
    ...(message !== undefined && { message }),
  }
  return { content: [{ type: 'text', text }], _meta: { 'askback/interaction': interaction } }
}

function errorResult(tool: AskTool, error: unknown): CallToolResult {
  const message = errorMessage(error)
  if (tool.describeError) return { content: [{ type: 'text', text: tool.describeError(message) }] }
  return { content: [{ type: 'text', text: `Nobody could be asked: ${message}` }], isError: true }
}

/** Sends progress notifications while a person has not answered. */
class ProgressNotifier {
  readonly #intervalMs: number
  readonly #send: (count: number) => Promise<void>
  #timer: ReturnType<typeof setInterval> | undefined
  #count = 0

  constructor(intervalMs: number, send: (count: number) => Promise<void>) {
    this.#intervalMs = intervalMs
    this.#send = send
  }

  start(): void {
    const notify = () => {
      this.#count += 1
      // The client has disconnected.
      this.#send(this.#count).catch(() => this.stop())
    }
    notify()
    this.#timer = setInterval(notify, this.#intervalMs)
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
