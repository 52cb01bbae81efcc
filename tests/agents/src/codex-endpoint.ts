import { startEndpoint, type Dialect, type Endpoint } from './endpoint.js'
import { messagesOf, streamResponse, type InputItem } from './response-stream.js'
import type { Scenario } from './scenario.js'

interface Body {
  input: InputItem[]
  tools?: { name?: string; type: string }[]
}

export type CodexEndpoint = Endpoint

const dialect: Dialect<Body, object> = {
  path: '/v1/responses',
  messagesOf: ({ input }) => messagesOf(input),
  toolsOf: ({ tools = [] }) => tools.map(({ name, type }) => name ?? type),
  more: () => ({}),
  stream: streamResponse,
  refusal: ({ type, message }) => ({ error: { type, message } }),
}

/** An OpenAI Responses endpoint. */
export function startCodexEndpoint(...initial: Scenario[]): Promise<CodexEndpoint> {
  return startEndpoint(dialect, ...initial)
}
