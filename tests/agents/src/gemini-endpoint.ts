import type { ServerResponse } from 'node:http'
import { startEndpoint, type Dialect, type Endpoint, type ModelRequest } from './endpoint.js'
import { streamedParts, type Block, type Message, type Reply, type Scenario } from './scenario.js'

interface GenerateBody {
  systemInstruction?: { parts: Part[] }
  contents: { role?: string; parts: Part[] }[]
  tools?: { functionDeclarations?: { name: string }[] }[]
}

/** A part of a request to the Gemini API, with the fields that tests look at. */
interface Part {
  text?: string
  functionResponse?: { id?: string; name: string; response: { output?: string; error?: string } }
}

interface GeminiRequestFields {
  model: string
}

export type GeminiEndpoint = Endpoint<ModelRequest & GeminiRequestFields>

const dialect: Dialect<GenerateBody, GeminiRequestFields> = {
  path: /^\/v1beta\/models\/[^/]+:streamGenerateContent$/,
  messagesOf: ({ systemInstruction, contents }) => [
    ...(systemInstruction ? [{ ...toMessage(systemInstruction), role: 'system' }] : []),
    ...contents.map(toMessage),
  ],
  toolsOf: ({ tools = [] }) =>
    tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations.map(({ name }) => name)),
  more: (_body, pathname) => ({ model: /models\/(.+):/u.exec(pathname)?.[1] ?? '' }),
  stream: streamReply,
  errorBody: ({ status, type, message }) => ({ error: { code: status, status: type, message } }),
}

/** Starts a scripted model behind the Gemini API of Google. */
export function startGeminiEndpoint(...initial: Scenario[]): Promise<GeminiEndpoint> {
  return startEndpoint(dialect, ...initial)
}

function toMessage({ role, parts }: GenerateBody['contents'][number]): Message {
  const content = parts.flatMap(({ text, functionResponse }): Exclude<Message['content'], string> => {
    if (functionResponse) {
      const { id, name, response } = functionResponse
      return [{ type: 'tool_result', tool_use_id: id ?? name, content: JSON.stringify(response) }]
    }
    return text === undefined ? [] : [{ type: 'text', text }]
  })
  return { role: role === 'model' ? 'assistant' : 'user', content }
}

/** Writes a reply as the Gemini API streams it. */
function streamReply(response: ServerResponse, { say, ends = 'well' }: Reply): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const write = (parts: object[], more: object = {}) => {
    const chunk = { candidates: [{ index: 0, content: { role: 'model', parts }, ...more }] }
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }
  for (const [at, block] of say.entries()) {
    const parts = partsOf(block)
    const isCut = ends === 'cut' && at === say.length - 1
    for (const part of isCut ? parts.slice(0, Math.ceil(parts.length / 2)) : parts) write([part])
    if (isCut) return void response.end()
  }
  // The connection stays open, and nothing more comes.
  if (ends === 'never') return
  write([{ text: '' }], { finishReason: 'STOP' })
  response.end()
}

function partsOf(block: Block): object[] {
  if ('text' in block) return streamedParts(block.text).map((text) => ({ text }))
  if ('thinking' in block) return [{ text: block.thinking, thought: true }]
  return [{ functionCall: { name: block.tool, args: block.input } }]
}
