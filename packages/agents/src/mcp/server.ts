import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type CallToolResult,
} from '@modelcontextprotocol/sdk/types.js'
import type { Interaction, OpenBody } from '@askback/protocol'
import { askTools, type Arguments, type AskTool } from './tools.js'

/** Claude Code's own name for the call, in the request that it makes of it. */
const CLAUDE_CALL = 'claudecode/toolUseId'
const PROGRESS_MS = 10_000

/** Clients put this into the model's context. */
const INSTRUCTIONS =
  'Askback brings your requests to a person and returns exactly what they said. Use ask_user when you need a decision or ' +
  'a fact that only the user has, request_approval before you do something that needs permission, and review_plan before ' +
  'you carry out a plan. Each call waits until the person answers, which can take minutes. If nobody answers, the result ' +
  'says so: do not assume an answer or a permission.'

export interface AskServerOptions {
  version: string
  /** Asks a person and resolves with the settled interaction; an abort cancels it. */
  ask: (
    body: OpenBody,
    options: { signal: AbortSignal; onPending: (item: Interaction) => void },
  ) => Promise<Interaction>
  /** How often a client that wants to hear of progress does: most give up on a tool that is silent for a minute. */
  progressMs?: number
}

/** An MCP server whose tools ask a person. */
export function createAskServer({ version, ask, progressMs = PROGRESS_MS }: AskServerOptions): McpServer {
  const mcp = new McpServer(
    { name: 'askback', title: 'Askback', version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  )
  // Below its own layer, which would want the schemas a second time.
  const { server } = mcp
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: askTools.map(described) }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendNotification }) => {
    const tool = askTools.find(({ name }) => name === params.name)
    if (!tool) throw new McpError(ErrorCode.InvalidParams, `There is no tool ${params.name}.`)
    const token = params._meta?.progressToken
    const progress =
      token === undefined
        ? null
        : new Progress(progressMs, (count) =>
            sendNotification({
              method: 'notifications/progress',
              params: { progressToken: token, progress: count, message: 'Waiting for a person to answer' },
            }),
          )
    try {
      const given = (params.arguments ?? {}) as Arguments
      const call = params._meta?.[CLAUDE_CALL]
      const body = { ...(typeof call === 'string' && { toolCallId: call }), ...tool.request(given) }
      const item = await ask(body, { signal, onPending: () => progress?.start() })
      return told(tool.tell(given, item), item)
    } catch (error) {
      return problem(tool, error)
    } finally {
      progress?.stop()
    }
  })
  return mcp
}

function described({ name, title, description, inputSchema, annotations }: AskTool) {
  return { name, title, description, inputSchema, ...(annotations && { annotations }) }
}

/** Not as structured content: clients would show that to the model instead of the words. */
function told(text: string, item: Interaction): CallToolResult {
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

function problem(tool: AskTool, error: unknown): CallToolResult {
  const message = error instanceof Error ? error.message : String(error)
  if (tool.tellProblem) return { content: [{ type: 'text', text: tool.tellProblem(message) }] }
  return { content: [{ type: 'text', text: `Nobody could be asked: ${message}` }], isError: true }
}

class Progress {
  readonly #everyMs: number
  readonly #send: (count: number) => Promise<void>
  #timer: ReturnType<typeof setInterval> | undefined
  #count = 0

  constructor(everyMs: number, send: (count: number) => Promise<void>) {
    this.#everyMs = everyMs
    this.#send = send
  }

  start(): void {
    const tell = () => {
      this.#count += 1
      // A client that is gone hears no result either.
      this.#send(this.#count).catch(() => this.stop())
    }
    tell()
    this.#timer = setInterval(tell, this.#everyMs)
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
