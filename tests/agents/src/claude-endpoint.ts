import { startEndpoint, type Dialect, type Endpoint, type ModelRequest } from './endpoint.js'
import { streamReply } from './message-stream.js'
import type { Scenario } from './scenario.js'
import type { Message } from './told.js'

interface Body {
  model: string
  stream?: boolean
  system?: string | { text: string }[]
  messages: Message[]
  tools?: { name: string }[]
}

interface More {
  system: string
  model: string
}

export type ClaudeEndpoint = Endpoint<ModelRequest & More>

const dialect: Dialect<Body, More> = {
  path: '/v1/messages',
  messagesOf: ({ messages }) => messages,
  toolsOf: ({ tools = [] }) => tools.map(({ name }) => name),
  more: ({ model, system = '' }) => ({
    model,
    system: typeof system === 'string' ? system : system.map((part) => part.text).join('\n'),
  }),
  stream: (response, reply, { model }) => streamReply(response, reply, model),
  refusal: ({ type, message }) => ({ type: 'error', error: { type, message } }),
}

/** An Anthropic Messages endpoint. */
export function startClaudeEndpoint(...initial: Scenario[]): Promise<ClaudeEndpoint> {
  return startEndpoint(dialect, ...initial)
}
