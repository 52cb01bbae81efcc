import type { ServerResponse } from 'node:http'
import { randomUUID } from 'node:crypto'
import { startEndpoint, type Dialect, type Endpoint, type ModelRequest } from './endpoint.js'
import { streamedParts, type Block, type Message, type Reply, type Scenario } from './scenario.js'

interface MessagesBody {
  model: string
  stream?: boolean
  system?: string | { text: string }[]
  messages: Message[]
  tools?: { name: string }[]
}

interface ClaudeRequestFields {
  system: string
  model: string
}

export type ClaudeEndpoint = Endpoint<ModelRequest & ClaudeRequestFields>

const dialect: Dialect<MessagesBody, ClaudeRequestFields> = {
  path: '/v1/messages',
  messagesOf: ({ messages }) => messages,
  toolsOf: ({ tools = [] }) => tools.map(({ name }) => name),
  more: ({ model, system = '' }) => ({
    model,
    system: typeof system === 'string' ? system : system.map((part) => part.text).join('\n'),
  }),
  stream: (response, reply, { model }) => streamReply(response, reply, model),
  errorBody: ({ type, message }) => ({ type: 'error', error: { type, message } }),
}

/** Starts a scripted model behind the Messages API of Anthropic. */
export function startClaudeEndpoint(...initial: Scenario[]): Promise<ClaudeEndpoint> {
  return startEndpoint(dialect, ...initial)
}

/** Writes a reply as the Messages API streams it. */
function streamReply(response: ServerResponse, { say, ends = 'well' }: Reply, model: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  const write = (type: string, data: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
  const usage = {
    input_tokens: 10,
    output_tokens: 1,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
  }
  const id = `msg_${randomUUID().replaceAll('-', '')}`
  const message = { id, type: 'message', role: 'assistant', model, content: [], stop_reason: null, usage }
  write('message_start', { message: { ...message, stop_sequence: null } })
  for (const [index, block] of say.entries()) {
    write('content_block_start', { index, content_block: blockStart(block) })
    const deltas = blockDeltas(block)
    const isCut = ends !== 'well' && index === say.length - 1
    for (const delta of isCut ? deltas.slice(0, Math.ceil(deltas.length / 2)) : deltas)
      write('content_block_delta', { index, delta })
    if (isCut) break
    write('content_block_stop', { index })
  }
  // The connection stays open, and nothing more comes.
  if (ends === 'never') return
  if (ends === 'cut') return void response.end()
  const stop_reason = say.some((block) => 'tool' in block) ? 'tool_use' : 'end_turn'
  write('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } })
  write('message_stop', {})
  response.end()
}

function blockStart(block: Block): object {
  if ('text' in block) return { type: 'text', text: '' }
  if ('thinking' in block) return { type: 'thinking', thinking: '', signature: '' }
  const id = block.id ?? `toolu_${randomUUID().replaceAll('-', '').slice(0, 24)}`
  return { type: 'tool_use', id, name: block.tool, input: {} }
}

function blockDeltas(block: Block): object[] {
  if ('text' in block) return streamedParts(block.text).map((text) => ({ type: 'text_delta', text }))
  if ('thinking' in block) {
    const deltas = streamedParts(block.thinking).map((thinking) => ({ type: 'thinking_delta', thinking }))
    return [...deltas, { type: 'signature_delta', signature: 'c2lnbmF0dXJl' }]
  }
  return streamedParts(JSON.stringify(block.input)).map((partial_json) => ({
    type: 'input_json_delta',
    partial_json,
  }))
}
