import type { ServerResponse } from 'node:http'
import { randomUUID } from 'node:crypto'
import { startEndpoint, type Dialect, type Endpoint, type ModelRequest } from './endpoint.js'
import { streamedParts, type Block, type Message, type Reply, type Scenario } from './scenario.js'

interface ChatBody {
  model: string
  messages: ChatMessage[]
  tools?: { function: { name: string } }[]
}

/** A message of a request to the Chat Completions API, with the fields that tests look at. */
interface ChatMessage {
  role: string
  content?: string | { text?: string }[] | null
  tool_call_id?: string
}

interface ChatRequestFields {
  model: string
}

export type ChatEndpoint = Endpoint<ModelRequest & ChatRequestFields>

const dialect: Dialect<ChatBody, ChatRequestFields> = {
  path: '/v1/chat/completions',
  messagesOf: ({ messages }) => messages.map(toMessage),
  toolsOf: ({ tools = [] }) => tools.map((tool) => tool.function.name),
  more: ({ model }) => ({ model }),
  stream: (response, reply, { model }) => streamReply(response, reply, model),
  errorBody: ({ type, message }) => ({ error: { type, message } }),
}

/** Starts a scripted model behind the Chat Completions API of OpenAI, which OpenCode and many others speak. */
export function startChatEndpoint(...initial: Scenario[]): Promise<ChatEndpoint> {
  return startEndpoint(dialect, ...initial)
}

function toMessage({ role, content, tool_call_id }: ChatMessage): Message {
  const text =
    typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('\n')
  if (role !== 'tool') return { role, content: text }
  return {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: tool_call_id ?? '', content: text }],
  }
}

/** Writes a reply as the Chat Completions API streams it. */
function streamReply(response: ServerResponse, { say, ends = 'well' }: Reply, model: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  const id = `chatcmpl-${randomUUID()}`
  const write = (choice: object, more: object = {}) => {
    const chunk = { id, object: 'chat.completion.chunk', created: 0, model, choices: [choice], ...more }
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }
  let calls = 0
  for (const [at, block] of say.entries()) {
    const deltas = 'tool' in block ? [callDelta(block, calls++)] : textDeltas(block)
    const isCut = ends === 'cut' && at === say.length - 1
    for (const delta of isCut ? deltas.slice(0, Math.ceil(deltas.length / 2)) : deltas)
      write({ index: 0, delta: { role: 'assistant', ...delta }, finish_reason: null })
    if (isCut) return void response.end()
  }
  // The connection stays open, and nothing more comes.
  if (ends === 'never') return
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  write({ index: 0, delta: {}, finish_reason: calls === 0 ? 'stop' : 'tool_calls' }, { usage })
  response.end('data: [DONE]\n\n')
}

function textDeltas(block: Exclude<Block, { tool: string }>): object[] {
  if ('text' in block) return streamedParts(block.text).map((content) => ({ content }))
  return streamedParts(block.thinking).map((reasoning_content) => ({ reasoning_content }))
}

function callDelta({ tool: name, input, id }: Extract<Block, { tool: string }>, index: number): object {
  const call = { name, arguments: typeof input === 'string' ? input : JSON.stringify(input) }
  return { tool_calls: [{ index, id: id ?? `call_${randomUUID()}`, type: 'function', function: call }] }
}
