import { get, type IncomingMessage } from 'node:http'
import { onTestFinished } from 'vitest'

export interface SseMessage {
  id?: string
  event?: string
  retry?: string
  data?: unknown
  comment?: true
}

/** Collects the messages of a stream; `next` waits for the next one. */
export class SseClient {
  readonly messages: SseMessage[] = []
  readonly response: IncomingMessage
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>
  #text = ''
  #read = 0
  #wake: () => void = () => undefined

  constructor(response: IncomingMessage) {
    this.response = response
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => this.#take(chunk))
    this.ended = new Promise((resolve) => {
      response.on('close', () => {
        resolve()
        this.#wake()
      })
    })
  }

  /** The next message; heartbeats count. */
  async next(): Promise<SseMessage> {
    while (this.#read === this.messages.length) {
      if (this.response.closed) throw new Error('The stream has ended.')
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
    return this.messages[this.#read++]!
  }

  async take(count: number): Promise<SseMessage[]> {
    const taken: SseMessage[] = []
    while (taken.length < count) taken.push(await this.next())
    return taken
  }

  close(): void {
    this.response.destroy()
  }

  #take(chunk: string): void {
    this.#text += chunk
    const blocks = this.#text.split('\n\n')
    this.#text = blocks.pop()!
    for (const block of blocks) this.messages.push(parseSse(block))
    this.#wake()
  }
}

export async function openSse(
  port: number,
  path: string,
  headers: Record<string, string> = {},
): Promise<SseClient> {
  const response = await request(port, path, { accept: 'text/event-stream', ...headers })
  const client = new SseClient(response)
  onTestFinished(() => client.close())
  return client
}

export async function getJson(
  port: number,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: unknown; headers: IncomingMessage['headers'] }> {
  const response = await request(port, path, { accept: 'application/json', ...headers })
  response.setEncoding('utf8')
  let text = ''
  for await (const chunk of response) text += chunk
  return { status: response.statusCode!, body: JSON.parse(text), headers: response.headers }
}

function request(port: number, path: string, headers: Record<string, string>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get({ port, host: '127.0.0.1', path, headers, agent: false }, resolve).on('error', reject)
  })
}

export function parseSse(block: string): SseMessage {
  const message: SseMessage = {}
  for (const line of block.split('\n')) {
    const [, field, value] = /^(\w*):? ?(.*)$/.exec(line) ?? []
    if (field === '') message.comment = true
    else if (field === 'data') message.data = JSON.parse(value!)
    else if (field === 'id' || field === 'event' || field === 'retry') message[field] = value!
  }
  return message
}
