import { runCommand, type ConnectorLine, type Told } from '@askback/core'
import { AskbackError, type Actor, type Json } from '@askback/protocol'
import type { Bot, Context } from 'grammy'
import { cut } from './message-text.js'
import type { People } from './people.js'
import type { SeenUpdates } from './seen-updates.js'

export interface ReceptionOptions {
  bot: Bot
  line: ConnectorLine
  people: People
  seen: SeenUpdates
  say: (chat: string, text: string) => Promise<void>
  onError: (error: unknown) => void
}

const LONGEST_ALERT = 200
const REMEMBERED = 500

/** What people do in a chat. Whoever taps or writes is checked, not the chat alone. */
export class Reception {
  readonly #options: ReceptionOptions
  /** Messages that stood for something, and do no more. */
  readonly #closed = new Set<string>()

  constructor(options: ReceptionOptions) {
    this.#options = options
    const { bot } = options
    bot.on('callback_query:data', (context) => this.#once(context, () => this.#tapped(context)))
    bot.on('message:text', (context) => this.#once(context, () => this.#wrote(context)))
  }

  closed(chat: string, message: number): void {
    this.#closed.add(`${chat}/${message}`)
    const [oldest] = this.#closed
    if (this.#closed.size > REMEMBERED && oldest !== undefined) this.#closed.delete(oldest)
  }

  async #once({ update }: Context, act: () => Promise<void>): Promise<void> {
    const { seen } = this.#options
    if (!seen.take(update.update_id)) return
    await act()
    await seen.save()
  }

  async #tapped(context: Context): Promise<void> {
    const { line, people } = this.#options
    const query = context.callbackQuery!
    const { from, message } = query
    const chat = message && String(message.chat.id)
    const [cardId = '', control = ''] = (query.data ?? '').split(':', 2)
    const by = await people.find(from.id)
    if (!by || !message || chat === undefined || !this.#isPlace(chat)) {
      return this.#alert(context, { ok: false, text: 'You may not answer here. Pair with a code first.' })
    }
    const told = await this.#try(() => line.tap({ place: chat, cardId, control, by }))
    await this.#alert(context, told)
    // A message that is not the card's own, or of a card that is gone: its buttons would stay for ever.
    const stands = line.findCard(chat, (shown) => messageOf(shown) === message.message_id)
    if (stands === undefined) await context.editMessageReplyMarkup().catch(() => undefined)
  }

  async #wrote(context: Context): Promise<void> {
    const { line, people } = this.#options
    const message = context.message!
    const chat = String(message.chat.id)
    const text = message.text ?? ''
    const from = message.from
    const [, code] = /^\/(?:start|pair)(?:@\S+)?\s+(\S+)\s*$/i.exec(text) ?? []
    if (code !== undefined) return this.#pair(chat, from.id, code)
    const by = await people.find(from.id)
    if (!by || !this.#isPlace(chat)) return this.#strange(chat, message.chat.type, text, by)
    if (/^\/unpair\b/i.test(text)) return this.#unpair(chat, from.id, by.id, message.chat.type)
    const key = `telegram/${context.update.update_id}`
    const said = text.startsWith('/')
      ? ((await runCommand(line, { place: chat, text, by, key })) ??
        'There is no such command. /help lists them.')
      : (await this.#text({ chat, text, by, key, replied: message.reply_to_message?.message_id })).text
    this.#say(chat, said)
  }

  async #text(given: {
    chat: string
    text: string
    by: Actor
    key: string
    replied: number | undefined
  }): Promise<Told> {
    const { line } = this.#options
    const { chat: place, text, by, key, replied } = given
    if (replied === undefined) return this.#try(() => line.text({ place, text, by, key }))
    const replyTo = line.findCard(place, (shown) => messageOf(shown) === replied)
    if (replyTo === undefined && this.#closed.has(`${place}/${replied}`)) {
      return { ok: false, text: 'That is settled. Your text went nowhere.' }
    }
    return this.#try(() => line.text({ place, text, by, key, ...(replyTo !== undefined && { replyTo }) }))
  }

  async #pair(chat: string, user: number, code: string): Promise<void> {
    const { line, people, onError } = this.#options
    const by = await people.redeem(code, user)
    if (by === 'too_many') return this.#say(chat, 'Too many wrong codes. Try again in ten minutes.')
    if (by === 'wrong') return this.#say(chat, 'This code is wrong, used or older than ten minutes.')
    this.#say(chat, `You answer here as ${by.name ?? by.id} now. /help says how.`)
    // What waits follows as fast as Telegram takes it.
    const { id: _, ...place } = line.places().find(({ id }) => id === chat) ?? {
      id: chat,
      sessions: 'all' as const,
    }
    const pairedBy = [...new Set([...(place.pairedBy ?? []), by.id])]
    line.setPlace(chat, { ...place, pairedBy }).catch(onError)
  }

  async #unpair(chat: string, user: number, personId: string, type: string): Promise<void> {
    const { line, people } = this.#options
    await people.unpair(user)
    if (type === 'private') await line.setPlace(chat, null)
    else await this.#leave(chat, personId)
    this.#say(chat, 'You are no longer paired. Nothing of yours is taken here any more.')
  }

  /** A revoked person: their accounts answer nothing, and what they connected shows nothing more. */
  async forget(personId: string): Promise<void> {
    const { line, people } = this.#options
    const users = await people.forget(personId)
    for (const { id, pairedBy } of line.places()) {
      // The chat with one account has the number of that account.
      if (pairedBy?.includes(personId)) await this.#leave(id, personId)
      else if (users.includes(Number(id))) await line.setPlace(id, null)
    }
  }

  /** A chat that several people connected stays until the last of them leaves it. */
  async #leave(chat: string, personId: string): Promise<void> {
    const { line } = this.#options
    const { id: _, ...place } = line.places().find(({ id }) => id === chat) ?? { id: chat }
    if (!('pairedBy' in place) || !place.pairedBy?.includes(personId)) return
    const pairedBy = place.pairedBy.filter((other) => other !== personId)
    await line.setPlace(chat, pairedBy.length > 0 ? { ...place, pairedBy } : null)
  }

  /** Strangers learn how to begin, and nothing else; in groups not even that. */
  async #strange(chat: string, type: string, text: string, by: Actor | undefined): Promise<void> {
    if (type !== 'private' || (!by && !/^\/(start|help|pair)\b/i.test(text))) return
    this.#say(
      chat,
      'Pair first: get a code with askback telegram pair or in the settings of the web app, and send /pair CODE.',
    )
  }

  #isPlace(chat: string): boolean {
    return this.#options.line.places().some(({ id }) => id === chat)
  }

  async #try(act: () => Promise<Told>): Promise<Told> {
    try {
      return await act()
    } catch (error) {
      this.#options.onError(error)
      const why =
        error instanceof AskbackError && error.code === 'unavailable' ? ' Try again in a moment.' : ''
      return { ok: false, text: `Askback could not take this.${why}` }
    }
  }

  async #alert(context: Context, { ok, text }: Told): Promise<void> {
    // Too late is no harm: the card itself says how it came out.
    await context
      .answerCallbackQuery({ text: cut(text, LONGEST_ALERT), show_alert: !ok })
      .catch(() => undefined)
  }

  /** Not waited for: a chat that Telegram holds up must not hold up the others. */
  #say(chat: string, text: string): void {
    this.#options.say(chat, text).catch(this.#options.onError)
  }
}

function messageOf(shown: Json): number | undefined {
  return (shown as { message?: number }).message
}
