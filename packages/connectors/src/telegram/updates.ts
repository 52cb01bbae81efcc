import type { Kv } from '@askback/core'
import { AskbackError, type Actor, type Json } from '@askback/protocol'
import type { Bot, Context } from 'grammy'
import { overwrite } from '../overwrite.js'
import { runCommand } from '../runner/commands.js'
import type { ConnectorContext, ConnectorPlace, InputResult } from '../runner/connector.js'
import { cut } from './message-text.js'
import type { Pairings } from './pairings.js'

/** Telegram's limit for the text of an alert, in UTF-16 units. */
const MAX_ALERT_LENGTH = 200
/** Closed messages that are remembered, to warn people who reply to one. */
const MAX_CLOSED_MESSAGES = 500
/** Ids of handled updates that are stored. Telegram repeats an update soon or never. */
const MAX_HANDLED_UPDATES = 200

export interface UpdateHandlerOptions {
  bot: Bot
  context: ConnectorContext
  pairings: Pairings
  handled: HandledUpdates
  say: (chat: string, text: string) => Promise<void>
  onError: (error: unknown) => void
}

/**
 * Handles what people do in chats: taps, texts, commands and pairing. Each update is checked against the account that sent
 * it and not only against the chat, because others can be in the same chat.
 */
export class UpdateHandler {
  readonly #options: UpdateHandlerOptions
  /** Messages whose cards are closed, as `chat/message`, oldest first. */
  readonly #closed = new Set<string>()

  constructor(options: UpdateHandlerOptions) {
    this.#options = options
    const { bot } = options
    bot.on('callback_query:data', (update) => this.#once(update, () => this.#handleTap(update)))
    bot.on('message:text', (update) => this.#once(update, () => this.#handleMessage(update)))
  }

  rememberClosed(chat: string, message: number): void {
    this.#closed.add(`${chat}/${message}`)
    const [oldest] = this.#closed
    if (this.#closed.size > MAX_CLOSED_MESSAGES && oldest !== undefined) this.#closed.delete(oldest)
  }

  /** For a person who was revoked: ends their pairings, and removes the chats that only they connected. */
  async removePerson(personId: string): Promise<void> {
    const { context, pairings } = this.#options
    const users = await pairings.removePerson(personId)
    for (const { id, pairedBy } of context.places()) {
      // The id of a private chat is the id of its account.
      if (pairedBy?.includes(personId)) await this.#leaveChat(id, personId)
      else if (users.includes(Number(id))) await context.setPlace(id, null)
    }
  }

  /** Telegram repeats an update if it is not sure that we received it. */
  async #once({ update }: Context, handle: () => Promise<void>): Promise<void> {
    const { handled } = this.#options
    if (!handled.add(update.update_id)) return
    await handle()
    await handled.save()
  }

  async #handleTap(update: Context): Promise<void> {
    const { context, pairings } = this.#options
    const query = update.callbackQuery!
    const { from, message } = query
    const chat = message && String(message.chat.id)
    const [cardId = '', control = ''] = (query.data ?? '').split(':', 2)
    const by = await pairings.find(from.id)
    if (!by || !message || chat === undefined || !this.#isPlace(chat)) {
      return this.#alert(update, { ok: false, text: 'You may not answer here. Pair with a code first.' })
    }
    const result = await this.#try(() => context.tap({ place: chat, cardId, control, by }))
    await this.#alert(update, result)
    // A message that belongs to no open card would keep its buttons forever.
    const openCard = context.findCard(chat, (shown) => messageOf(shown) === message.message_id)
    if (openCard === undefined) await update.editMessageReplyMarkup().catch(() => undefined)
  }

  async #handleMessage(update: Context): Promise<void> {
    const { context, pairings } = this.#options
    const message = update.message!
    const chat = String(message.chat.id)
    const text = message.text ?? ''
    const user = message.from.id
    const [, code] = /^\/(?:start|pair)(?:@\S+)?\s+(\S+)\s*$/i.exec(text) ?? []
    if (code !== undefined) return this.#pair(chat, user, code)
    const by = await pairings.find(user)
    if (!by || !this.#isPlace(chat)) return this.#answerStranger(chat, message.chat.type, text, by)
    if (/^\/unpair\b/i.test(text)) return this.#unpair(chat, user, by.id, message.chat.type)
    const key = `telegram/${update.update.update_id}`
    const reply = text.startsWith('/')
      ? ((await runCommand(context, { place: chat, text, by, key })) ??
        'There is no such command. /help lists them.')
      : (await this.#handleText({ chat, text, by, key, repliedTo: message.reply_to_message?.message_id }))
          .text
    this.#say(chat, reply)
  }

  async #handleText(input: {
    chat: string
    text: string
    by: Actor
    key: string
    /** The message that the person replied to. */
    repliedTo: number | undefined
  }): Promise<InputResult> {
    const { context } = this.#options
    const { chat: place, text, by, key, repliedTo } = input
    if (repliedTo === undefined) return this.#try(() => context.text({ place, text, by, key }))
    const replyTo = context.findCard(place, (shown) => messageOf(shown) === repliedTo)
    if (replyTo === undefined && this.#closed.has(`${place}/${repliedTo}`)) {
      return { ok: false, text: 'That is settled. Your text went nowhere.' }
    }
    return this.#try(() => context.text({ place, text, by, key, ...(replyTo !== undefined && { replyTo }) }))
  }

  async #pair(chat: string, user: number, code: string): Promise<void> {
    const { context, pairings, onError } = this.#options
    const by = await pairings.redeemCode(code, user)
    if (by === 'too_many') return this.#say(chat, 'Too many wrong codes. Try again in ten minutes.')
    if (by === 'wrong') return this.#say(chat, 'This code is wrong, used or older than ten minutes.')
    this.#say(chat, `You answer here as ${by.name ?? by.id} now. /help says how.`)
    const place = this.#place(chat) ?? { id: chat, sessions: 'all' as const }
    const pairedBy = [...new Set([...(place.pairedBy ?? []), by.id])]
    // Not awaited: showing everything pending may take long, as Telegram limits how fast messages can be sent.
    context.setPlace(chat, { ...place, pairedBy }).catch(onError)
  }

  async #unpair(chat: string, user: number, personId: string, type: string): Promise<void> {
    const { context, pairings } = this.#options
    await pairings.unpair(user)
    if (type === 'private') await context.setPlace(chat, null)
    else await this.#leaveChat(chat, personId)
    this.#say(chat, 'You are no longer paired. Nothing of yours is taken here any more.')
  }

  /** Removes a person from those who connected a chat. The chat is removed with the last of them. */
  async #leaveChat(chat: string, personId: string): Promise<void> {
    const place = this.#place(chat)
    if (!place?.pairedBy?.includes(personId)) return
    const pairedBy = place.pairedBy.filter((other) => other !== personId)
    await this.#options.context.setPlace(chat, pairedBy.length > 0 ? { ...place, pairedBy } : null)
  }

  /** A stranger learns how to pair and nothing else. In groups even that is not said, as nobody may have asked the bot. */
  async #answerStranger(chat: string, type: string, text: string, by: Actor | undefined): Promise<void> {
    if (type !== 'private' || (!by && !/^\/(start|help|pair)\b/i.test(text))) return
    this.#say(
      chat,
      'Pair first: get a code with askback telegram pair or in the settings of the web app, and send /pair CODE.',
    )
  }

  #place(chat: string): ConnectorPlace | undefined {
    return this.#options.context.places().find(({ id }) => id === chat)
  }

  #isPlace(chat: string): boolean {
    return this.#place(chat) !== undefined
  }

  async #try(act: () => Promise<InputResult>): Promise<InputResult> {
    try {
      return await act()
    } catch (error) {
      this.#options.onError(error)
      const mayPass = error instanceof AskbackError && error.code === 'unavailable'
      return { ok: false, text: `Askback could not take this.${mayPass ? ' Try again in a moment.' : ''}` }
    }
  }

  /** Fails if Telegram has given up on the tap. That is harmless: the card itself shows what happened. */
  async #alert(update: Context, { ok, text }: InputResult): Promise<void> {
    await update
      .answerCallbackQuery({ text: cut(text, MAX_ALERT_LENGTH), show_alert: !ok })
      .catch(() => undefined)
  }

  /** Does not wait: a chat whose messages Telegram delays must not delay the updates of other chats. */
  #say(chat: string, text: string): void {
    this.#options.say(chat, text).catch(this.#options.onError)
  }
}

/** The ids of the last updates, stored so that a restart does not handle one twice. They may come in any order. */
export class HandledUpdates {
  readonly #kv: Kv
  readonly #key: string
  #ids: number[] = []
  #saving: Promise<void> = Promise.resolve()

  constructor(kv: Kv, connectorId: string) {
    this.#kv = kv
    this.#key = `connector/${connectorId}/updates`
  }

  async load(): Promise<void> {
    const ids = (await this.#kv.get(this.#key))?.value
    this.#ids = Array.isArray(ids) ? ids.filter((id) => typeof id === 'number') : []
  }

  /** Returns false if the update was handled before. */
  add(id: number): boolean {
    if (this.#ids.includes(id)) return false
    this.#ids = [...this.#ids, id].slice(-MAX_HANDLED_UPDATES)
    return true
  }

  save(): Promise<void> {
    this.#saving = this.#saving.catch(() => undefined).then(() => overwrite(this.#kv, this.#key, this.#ids))
    return this.#saving
  }
}

function messageOf(shown: Json): number | undefined {
  const isReference = typeof shown === 'object' && shown !== null && 'message' in shown
  return isReference && typeof shown['message'] === 'number' ? shown['message'] : undefined
}
