import type { ServerResponse } from 'node:http'
import { randomUUID } from 'node:crypto'
import { startEndpoint, type Dialect, type Endpoint } from './endpoint.js'
import { streamedParts, type Block, type Message, type Reply, type Scenario } from './scenario.js'

interface ResponsesBody {
  input: InputItem[]
  tools?: { name?: string; type: string }[]
}

export type CodexEndpoint = Endpoint

const dialect: Dialect<ResponsesBody, object> = {
  path: '/v1/responses',
  messagesOf: ({ input }) => messagesOf(input),
  toolsOf: ({ tools = [] }) => tools.map(({ name, type }) => name ?? type),
  more: () => ({}),
  stream: streamResponse,
  errorBody: ({ type, message }) => ({ error: { type, message } }),
}

/** Starts a scripted model behind the Responses API of OpenAI. */
export function startCodexEndpoint(...initial: Scenario[]): Promise<CodexEndpoint> {
  return startEndpoint(dialect, ...initial)
}

/** An item of a request to the Responses API, with the fields that tests look at. */
interface InputItem {
  type: string
  role?: string
  content?: { text?: string }[]
  call_id?: string
  output?: string | { text?: string }[]
}

/** Translates the conversation into the messages that scenarios know. */
function messagesOf(input: InputItem[]): Message[] {
  return input.flatMap((item): Message[] => {
    switch (item.type) {
      case 'message': {
        const text = item.content?.map((part) => part.text ?? '').join('\n') ?? ''
        return [{ role: item.role === 'developer' ? 'system' : (item.role ?? 'user'), content: text }]
      }
      case 'function_call':
      case 'custom_tool_call':
        return [{ role: 'assistant', content: [] }]
      case 'function_call_output':
      case 'custom_tool_call_output': {
        const { output = '', call_id = '' } = item
        const content = typeof output === 'string' ? output : output.map((part) => part.text ?? '').join('\n')
        return [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: call_id, content }] }]
      }
      default:
        return []
    }
  })
}

/** Writes a reply as the Responses API streams it. */
function streamResponse(response: ServerResponse, { say, ends = 'well' }: Reply): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  const write = (type: string, data: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
  const id = `resp_${randomUUID()}`
  write('response.created', { response: { id } })
  for (const [output_index, block] of say.entries()) {
    const item = itemOf(block)
    const isCut = ends === 'cut' && output_index === say.length - 1
    if ('text' in block) {
      write('response.output_item.added', { output_index, item: { ...item, content: [] } })
      const parts = streamedParts(block.text)
      for (const delta of isCut ? parts.slice(0, Math.ceil(parts.length / 2)) : parts)
        write('response.output_text.delta', { output_index, item_id: item.id, content_index: 0, delta })
    }
    if (isCut) return void response.end()
    write('response.output_item.done', { output_index, item })
  }
  // The connection stays open, and nothing more comes.
  if (ends === 'never') return
  const usage = {
    input_tokens: 10,
    input_tokens_details: null,
    output_tokens: 5,
    output_tokens_details: null,
    total_tokens: 15,
  }
  write('response.completed', { response: { id, usage } })
  response.end()
}

function itemOf(block: Block): { id: string; [key: string]: unknown } {
  if ('text' in block) {
    const content = [{ type: 'output_text', text: block.text }]
    return { type: 'message', role: 'assistant', id: `msg_${randomUUID()}`, content }
  }
  if ('thinking' in block) {
    const summary = [{ type: 'summary_text', text: block.thinking }]
    return { type: 'reasoning', id: `rs_${randomUUID()}`, summary }
  }
  const { tool: name, input, id: call_id = `call_${randomUUID()}` } = block
  const id = `item_${randomUUID()}`
  // The API names a tool of an MCP server in two fields.
  const [, namespace, tool] = /^(mcp__.+?)__(.+)$/.exec(name) ?? []
  const call = { id, call_id, name: tool ?? name, ...(namespace !== undefined && { namespace }) }
  if (typeof input === 'string') return { type: 'custom_tool_call', status: 'completed', input, ...call }
  return { type: 'function_call', arguments: JSON.stringify(input), ...call }
}
