import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The parts of Telegram's types that the tests use. */
interface MessageEntity {
  type: string
  offset: number
  length: number
}

interface InlineKeyboardMarkup {
  inline_keyboard: { text: string; callback_data: string }[][]
}

interface Update {
  update_id: number
  message?: object
  callback_query?: object
}

export const TOKEN = '123456:a-token-that-nobody-may-log'

interface SentMessage {
  message_id: number
  chat: string
  text: string
  entities: MessageEntity[]
  markup: InlineKeyboardMarkup
  document?: { name: string; content: string }
}

/** A timer may ring this much early. */
const EARLY_MS = 20

type Fields = Record<string, unknown>

/** An error response of the Bot API. */
class Refusal extends Error {
  readonly code: number
  readonly retryAfter: number | undefined
  constructor(code: number, description: string, retryAfter?: number) {
    super(description)
    this.code = code
    this.retryAfter = retryAfter
  }
}

/** A Bot API server in this process. It enforces the limits of Telegram that a bot meets every day. */
export class BotApiServer {
  readonly messages: SentMessage[] = []
  readonly alerts: string[] = []
  /** The methods of all calls. */
  readonly calls: string[] = []
  webhook: { url: string; secret: string } | null = null
  isDown = false
  url = ''
  readonly #server = createServer((request, response) => void this.#serve(request, response))
  readonly #updates: Update[] = []
  readonly #queries = new Set<string>()
  readonly #limits = new Map<string, number>()
  readonly #limited = new Map<string, number>()
  readonly #recent = new Map<string, number[]>()
  readonly #waiting = new Set<() => void>()
  #nextId = 1

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
    return this
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  in(chat: string): SentMessage[] {
    return this.messages.filter((message) => message.chat === chat)
  }

  /** From the next call on, refuses all calls to this chat for so many seconds. */
  limit(chat: string, seconds: number): void {
    this.#limits.set(chat, seconds)
  }

  delete(message: SentMessage): void {
    this.messages.splice(this.messages.indexOf(message), 1)
  }

  /** Taps the newest button whose label begins like this. */
  tap(chat: string, user: number, label: string): Update {
    for (const message of this.in(chat).toReversed()) {
      const button = message.markup.inline_keyboard.flat().find(({ text }) => labelOf(text).startsWith(label))
      if (button) return this.tapData(message, user, button.callback_data)
    }
    throw new Error(`No button ${label} in ${JSON.stringify(this.in(chat).map(({ markup }) => markup))}`)
  }

  tapData(message: SentMessage, user: number, data: string): Update {
    const id = `q${this.#nextId++}`
    this.#queries.add(id)
    const query = { id, from: person(user), chat_instance: 'c', data, message: this.#shown(message) }
    return this.push({ update_id: this.#nextId++, callback_query: query })
  }

  write(chat: string, user: number, text: string, replyTo?: SentMessage): Update {
    const message_id = this.#nextId++
    const message = {
      message_id,
      date: 1,
      chat: chatOf(chat),
      from: person(user),
      text,
      ...(replyTo && { reply_to_message: this.#shown(replyTo) }),
    }
    return this.push({ update_id: this.#nextId++, message })
  }

  push(update: Update): Update {
    this.#updates.push(update)
    for (const resolve of this.#waiting) resolve()
    return update
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.isDown) return void request.socket.destroy()
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const [, token, method = ''] = /^\/bot([^/]+)\/(\w+)$/.exec(request.url ?? '') ?? []
    const answer = (code: number, body: object) => {
      if (this.isDown) return void request.socket.destroy()
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    try {
      if (token !== TOKEN) throw new Refusal(401, 'Unauthorized')
      this.calls.push(method)
      const fields = fieldsOf(request, Buffer.concat(chunks))
      answer(200, { ok: true, result: await this.#call(method, fields, request) })
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const { code, message, retryAfter } = error
      const parameters = retryAfter === undefined ? {} : { parameters: { retry_after: retryAfter } }
      answer(code, { ok: false, error_code: code, description: message, ...parameters })
    }
  }

  async #call(method: string, fields: Fields, request: IncomingMessage): Promise<unknown> {
    switch (method) {
      case 'getMe':
        return { id: 1, is_bot: true, first_name: 'Askback', username: 'askback_test_bot' }
      case 'getUpdates':
        if (this.webhook)
          throw new Refusal(409, "Conflict: can't use getUpdates method while webhook is active")
        return this.#getUpdates(Number(fields['offset'] ?? 0), Number(fields['timeout'] ?? 0), request)
      case 'deleteWebhook':
        this.webhook = null
        return true
      case 'setWebhook':
        this.webhook = { url: String(fields['url']), secret: textIn(fields['secret_token']) }
        return true
      case 'sendMessage':
      case 'sendDocument':
        return this.#shown(this.#send(fields))
      case 'editMessageText':
      case 'editMessageReplyMarkup':
        return this.#shown(this.#edit(fields))
      case 'answerCallbackQuery':
        return this.#answer(fields)
      case 'setMyCommands':
        return true
      default:
        throw new Refusal(404, 'Not Found')
    }
  }

  async #getUpdates(offset: number, timeout: number, request: IncomingMessage): Promise<Update[]> {
    const confirmed = this.#updates.findIndex(({ update_id }) => update_id >= offset)
    if (offset > 0) this.#updates.splice(0, confirmed < 0 ? this.#updates.length : confirmed)
    if (this.#updates.length === 0 && timeout > 0) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve)
        request.socket.once('close', resolve)
        setTimeout(resolve, timeout * 1000).unref()
      })
    }
    return this.#updates.slice(0, 100)
  }

  #send(fields: Fields): SentMessage {
    const chat = String(fields['chat_id'])
    this.#count(chat)
    const document = fields['document'] as SentMessage['document'] | undefined
    if (!document) checkText(fields)
    const sent: SentMessage = {
      message_id: this.#nextId++,
      chat,
      text: document ? '' : String(fields['text']).trim(),
      entities: entitiesOf(fields),
      markup: markupOf(fields),
      ...(document && { document }),
    }
    this.messages.push(sent)
    return sent
  }

  #edit(fields: Fields): SentMessage {
    const chat = String(fields['chat_id'])
    this.#count(chat)
    const message = this.in(chat).find(({ message_id }) => message_id === Number(fields['message_id']))
    if (!message) throw new Refusal(400, 'Bad Request: message to edit not found')
    if ('text' in fields) checkText(fields)
    const text = 'text' in fields ? String(fields['text']).trim() : message.text
    const entities = 'text' in fields ? entitiesOf(fields) : message.entities
    const markup = markupOf(fields)
    if (
      JSON.stringify([text, entities, markup]) ===
      JSON.stringify([message.text, message.entities, message.markup])
    ) {
      throw new Refusal(
        400,
        'Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message',
      )
    }
    return Object.assign(message, { text, entities, markup })
  }

  #answer(fields: Fields): boolean {
    const id = String(fields['callback_query_id'])
    if (!this.#queries.delete(id)) {
      throw new Refusal(
        400,
        'Bad Request: query is too old and response timeout expired or query ID is invalid',
      )
    }
    const text = textIn(fields['text'])
    if (text.length > 200) throw new Refusal(400, 'Bad Request: MESSAGE_TOO_LONG')
    this.alerts.push(text)
    return true
  }

  /** Enforces about one message per second with short bursts, and twenty per minute in a group. */
  #count(chat: string): void {
    const now = Date.now()
    const seconds = this.#limits.get(chat)
    if (seconds !== undefined) {
      this.#limits.delete(chat)
      this.#limited.set(chat, now + seconds * 1000 - EARLY_MS)
    }
    const until = this.#limited.get(chat) ?? 0
    if (until > now) throw tooMany(Math.ceil((until - now) / 1000))
    const recent = (this.#recent.get(chat) ?? []).filter((at) => now - at < 60_000)
    const lately = recent.filter((at) => now - at < 3000)
    if (lately.length >= 12) throw tooMany(1)
    if (chat.startsWith('-') && recent.length >= 20)
      throw tooMany(Math.ceil((recent[0]! + 60_000 - now) / 1000))
    this.#recent.set(chat, [...recent, now])
  }

  #shown({ message_id, chat, text, markup }: SentMessage): object {
    return { message_id, date: 1, chat: chatOf(chat), text, reply_markup: markup }
  }
}

export function labelOf(text: string): string {
  return text.replace(/^[☑☐] /u, '')
}

function tooMany(seconds: number): Refusal {
  return new Refusal(429, `Too Many Requests: retry after ${seconds}`, seconds)
}

function textIn(field: unknown): string {
  return typeof field === 'string' ? field : ''
}

function checkText(fields: Fields): void {
  const text = textIn(fields['text']).trim()
  if (text === '') throw new Refusal(400, 'Bad Request: message text is empty')
  if (text.length > 4096) throw new Refusal(400, 'Bad Request: message is too long')
  if ('parse_mode' in fields)
    throw new Refusal(400, "Bad Request: can't parse entities: this server parses nothing")
  for (const { offset, length } of entitiesOf(fields)) {
    const halves = [text.charCodeAt(offset - 1), text.charCodeAt(offset + length - 1)]
    const splits = halves.some((unit) => unit >= 0xd800 && unit <= 0xdbff)
    if (offset < 0 || length < 1 || offset + length > text.length || splits) {
      throw new Refusal(400, `Bad Request: can't parse entities: wrong range ${offset}, ${length}`)
    }
  }
}

function entitiesOf(fields: Fields): MessageEntity[] {
  return (fields['entities'] as MessageEntity[] | undefined) ?? []
}

function markupOf(fields: Fields): InlineKeyboardMarkup {
  const markup = (fields['reply_markup'] as InlineKeyboardMarkup | undefined) ?? { inline_keyboard: [] }
  const all = markup.inline_keyboard.flat()
  if (all.length > 100) throw new Refusal(400, 'Bad Request: reply markup is too long')
  for (const button of all) {
    if (button.text.trim() === '')
      throw new Refusal(400, 'Bad Request: text buttons are unallowed in the inline keyboard')
    const bytes = Buffer.byteLength(button.callback_data)
    if (bytes < 1 || bytes > 64) throw new Refusal(400, 'Bad Request: BUTTON_DATA_INVALID')
  }
  return { inline_keyboard: markup.inline_keyboard.filter((row) => row.length > 0) }
}

function fieldsOf(request: IncomingMessage, body: Buffer): Fields {
  const type = request.headers['content-type'] ?? ''
  if (!type.startsWith('multipart/')) return body.length > 0 ? (JSON.parse(body.toString()) as Fields) : {}
  const boundary = `--${/boundary=(.*)$/.exec(type)?.[1] ?? ''}`
  const fields: Fields = {}
  for (const part of body.toString().split(boundary).slice(1, -1)) {
    const [head = '', ...rest] = part.replace(/^\r\n/, '').split('\r\n\r\n')
    const content = rest.join('\r\n\r\n').replace(/\r\n$/, '')
    const file = /filename=([^\r\n;]+)/.exec(head)?.[1]
    const name = /name="([^"]+)"/.exec(head)?.[1] ?? ''
    if (file === undefined) fields[name] = content
    else fields['document'] = { name: file.replaceAll('"', ''), content }
  }
  return fields
}

function person(id: number): { id: number; is_bot: boolean; first_name: string } {
  return { id, is_bot: false, first_name: `P${id}` }
}

function chatOf(chat: string): object {
  return {
    id: Number(chat),
    type: chat.startsWith('-') ? 'group' : 'private',
    title: 'Chat',
    first_name: 'Chat',
  }
}
