import {
  connectorCommands,
  systemClock,
  type Card,
  type Clock,
  type Connector,
  type ConnectorLine,
  type Kv,
} from '@askback/core'
import { AskbackError, spellOut, type Actor, type Json } from '@askback/protocol'
import { Bot, InputFile } from 'grammy'
import type { MessageEntity } from 'grammy/types'
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { buttons, cardText, closedText, piecesOfText, type MessageText } from './message-text.js'
import { People, type AllowedUser } from './people.js'
import { Reception } from './reception.js'
import { SeenUpdates } from './seen-updates.js'
import { isGone, isRefused, isUnchanged, readable, Sender } from './sender.js'

export interface TelegramOptions {
  /** From @BotFather. */
  token: string
  kv: Kv
  /** Who may answer, beside those who pair. Nobody unless named. */
  users?: AllowedUser[]
  /** Whether a person who paired still has access; everyone unless given. */
  isKnown?: (personId: string) => boolean | Promise<boolean>
  /** Where things are shown from the start, by their ids. */
  chats?: number[]
  /** Telegram calls this address instead of being asked; it leads to `receive`. */
  webhookUrl?: string
  /** Of another Bot API server. */
  apiRoot?: string
  clock?: Clock
  onError: (error: unknown) => void
}

export interface TelegramConnector extends Connector {
  /** A one-time code that makes whoever sends it to the bot this person. */
  pair(by: Actor): { code: string; expiresAt: number; link?: string }
  /** Ends the pairings of a person who was revoked, and the chats that only they connected. */
  forget(personId: string): Promise<void>
  /** What Telegram sends to the webhook. False without its secret. */
  receive(headers: IncomingHttpHeaders, body: unknown): Promise<boolean>
}

interface Shown {
  message: number
  /** Whether what did not fit stands above it. */
  file: boolean
}

const ID = 'telegram'
const UNPAIR = { command: 'unpair', description: 'answer here no more' }
const AGAIN_MS = 5000
const LAST_CALL_MS = 3000
const UPDATES = ['message', 'callback_query'] as const
const SECRET_HEADER = 'x-telegram-bot-api-secret-token'

/** Questions, approvals and plans in Telegram chats: one message each, with buttons, closed when it is settled. */
export function telegramConnector(options: TelegramOptions): TelegramConnector {
  const { kv, clock = systemClock, onError, users = [], chats = [], webhookUrl, apiRoot } = options
  const bot = new Bot(options.token, {
    client: { ...(apiRoot !== undefined && { apiRoot }), timeoutSeconds: 60 },
  })
  const sender = new Sender(clock)
  const people = new People({ kv, clock, users, id: ID, isKnown: options.isKnown })
  const seen = new SeenUpdates(kv, ID)
  const secret = randomBytes(32).toString('hex')
  let reception: Reception | null = null
  let stopped = false
  const report = (error: unknown) => {
    if (!stopped) onError(readable(error))
  }
  /** Said once, not every five seconds. */
  let isTold = false
  let disarm: () => void = () => undefined

  const hurry = new AbortController()
  bot.api.config.use((call, method, payload, signal) =>
    // The library has a type of its own for the same thing.
    call(
      method,
      payload,
      signal ??
        (method === 'getUpdates' ? undefined : (hurry.signal as unknown as NonNullable<typeof signal>)),
    ),
  )

  async function connect(): Promise<void> {
    try {
      if (!bot.isInited()) bot.botInfo = await bot.api.getMe()
      if (stopped) return
      isTold = false
      // A convenience: nothing depends on it.
      bot.api.setMyCommands([...connectorCommands, UNPAIR]).catch(() => undefined)
      if (webhookUrl === undefined) await bot.start({ allowed_updates: UPDATES })
      else await bot.api.setWebhook(webhookUrl, { secret_token: secret, allowed_updates: UPDATES })
    } catch (error) {
      if (stopped) return
      if (!isTold) report(error)
      isTold = true
      disarm = clock.alarm(clock.now() + AGAIN_MS, () => void connect())
    }
  }

  async function send(chat: string, { text, entities, file }: MessageText, card: Card): Promise<Json> {
    if (file) {
      const document = new InputFile(Buffer.from(file.content), file.name)
      await sender.send(chat, 'show', () => bot.api.sendDocument(chat, document))
    }
    const reply_markup = { inline_keyboard: buttons(card) }
    const { message_id: message } = await orPlain(
      () =>
        sender.send(chat, 'show', () =>
          bot.api.sendMessage(chat, text, { entities, reply_markup, ...quiet }),
        ),
      () => sender.send(chat, 'show', () => bot.api.sendMessage(chat, text, { reply_markup, ...quiet })),
    )
    return { message, file: file !== null } satisfies Shown
  }

  /** False if the message is gone. */
  async function edit(
    chat: string,
    shown: Json,
    { text, entities }: MessageText,
    reply_markup: { inline_keyboard: ReturnType<typeof buttons> },
  ): Promise<boolean> {
    const { message } = shown as unknown as Shown
    try {
      await orPlain(
        () =>
          sender.send(chat, 'close', () =>
            bot.api.editMessageText(chat, message, text, { entities, reply_markup, ...quiet }),
          ),
        () =>
          sender.send(chat, 'close', () =>
            bot.api.editMessageText(chat, message, text, { reply_markup, ...quiet }),
          ),
      )
      return true
    } catch (error) {
      if (isUnchanged(error)) return true
      if (isGone(error)) return false
      throw error
    }
  }

  async function say(chat: string, text: string): Promise<void> {
    for (const piece of piecesOfText(text)) {
      await sender.send(chat, 'say', () => bot.api.sendMessage(chat, piece, quiet))
    }
  }

  /** Visibly quoted, so that an agent cannot write a message that looks like one of ours. */
  async function quote(chat: string, heading: string, text: string): Promise<void> {
    for (const [index, piece] of piecesOfText(`${heading}${spellOut(text, 'prose')}`).entries()) {
      const offset = index === 0 ? heading.length : 0
      const entities: MessageEntity[] = [
        { type: 'blockquote', offset, length: piece.trimEnd().length - offset },
      ]
      await sender.send(chat, 'say', () => bot.api.sendMessage(chat, piece, { entities, ...quiet }))
    }
  }

  return {
    id: ID,
    via: 'telegram',
    async start(line: ConnectorLine) {
      await seen.load()
      for (const chat of chats) {
        const known = line.places().find(({ id }) => id === String(chat))
        if (!known) await line.setPlace(String(chat), { sessions: 'all' })
      }
      reception = new Reception({ bot, line, people, seen, say, onError: report })
      for (const personId of await people.strangers()) await reception.forget(personId)
      bot.catch(({ error }) => report(error))
      void connect()
    },
    show: (chat, card) => send(chat, cardText(card, clock.now()), card),
    async update(chat, shown, card) {
      const text = cardText(card, clock.now())
      if (text.file && !(shown as unknown as Shown).file) {
        // A file cannot come above a message that stands.
        const moved = { card, outcome: 'Shown again below.', settlement: 'step' as const }
        await edit(chat, shown, closedText(moved, clock.now()), { inline_keyboard: [] })
        return send(chat, text, card)
      }
      const stands = await edit(chat, shown, text, { inline_keyboard: buttons(card) })
      return stands ? shown : send(chat, text, card)
    },
    async close(chat, shown, closed) {
      reception?.closed(chat, (shown as unknown as Shown).message)
      await edit(chat, shown, closedText(closed, clock.now()), { inline_keyboard: [] })
    },
    say,
    async hear(chat, event) {
      if (event.type === 'text') await quote(chat, '', event.text)
      if (event.type === 'error') await quote(chat, 'Error:\n', event.message)
    },
    async stop() {
      stopped = true
      disarm()
      sender.stop()
      // What is on its way should be known to have arrived, but not for ever.
      setTimeout(() => hurry.abort(), LAST_CALL_MS).unref()
      if (bot.isRunning()) await bot.stop().catch(() => undefined)
    },
    pair(by) {
      const made = people.newCode(by)
      return bot.isInited()
        ? { ...made, link: `https://t.me/${bot.botInfo.username}?start=${made.code}` }
        : made
    },
    async forget(personId) {
      if (reception) await reception.forget(personId)
      else await people.forget(personId)
    },
    async receive(headers, body) {
      if (webhookUrl === undefined || !isSame(headers[SECRET_HEADER], secret)) return false
      if (!bot.isInited()) throw new AskbackError('unavailable', 'The bot is not connected yet.')
      await bot.handleUpdate(body as Parameters<typeof bot.handleUpdate>[0])
      return true
    },
  }
}

/** An address in a command must not be fetched by Telegram for a preview. */
const quiet = { link_preview_options: { is_disabled: true } }

/** A card without its looks is better than none. */
async function orPlain<T>(formatted: () => Promise<T>, plain: () => Promise<T>): Promise<T> {
  try {
    return await formatted()
  } catch (error) {
    if (!isRefused(error) || isUnchanged(error) || isGone(error)) throw error
    return plain()
  }
}

function isSame(given: string | string[] | undefined, secret: string): boolean {
  if (typeof given !== 'string') return false
  const [a, b] = [Buffer.from(given), Buffer.from(secret)]
  return a.length === b.length && timingSafeEqual(a, b)
}
