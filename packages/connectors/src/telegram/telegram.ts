import { jumpAwareClock, type Clock, type Kv } from '@askback/core'
import { AskbackError, spellOut, type Actor, type Json } from '@askback/protocol'
import { Bot, InputFile } from 'grammy'
import type { MessageEntity } from 'grammy/types'
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { TextCard } from '../cards/card.js'
import { connectorCommands } from '../runner/commands.js'
import type { Connector } from '../runner/connector.js'
import { buttons, cardText, closedText, splitText, type MessageText } from './message-text.js'
import { Pairings, type AllowedUser } from './pairings.js'
import { isGone, isRefused, isUnchanged, plainError, SendQueue } from './send-queue.js'
import { HandledUpdates, UpdateHandler } from './updates.js'

/** The options of the Telegram connector. */
export interface TelegramOptions {
  /** The token of the bot, from @BotFather. */
  token: string
  /**
   * Names the records of this bot in the store. Each of several bots on one store needs its own, which must stay the same.
   * @default 'telegram'
   */
  id?: string
  /** Stores pairings and cards. */
  kv: Kv
  /** Accounts that may answer without pairing. @default [] */
  users?: AllowedUser[]
  /** Whether a person who paired still has access. @default everyone who paired */
  mayAct?: (personId: string) => boolean | Promise<boolean>
  /** Ids of chats that show everything from the start. @default [] */
  chats?: number[]
  /** The public address that leads to `receive`. @default none: the bot asks Telegram for updates (long polling) */
  webhookUrl?: string
  /** The address of another Bot API server. @default Telegram's */
  apiRoot?: string
  clock?: Clock
  /** Called with what fails in the background. */
  onError: (error: unknown) => void
}

export interface TelegramConnector extends Connector {
  /** Makes a one-time code. The account that sends it to the bot acts as this person from then on. */
  pair(by: Actor): { code: string; expiresAt: number; link?: string }
  /** For a person who was revoked: ends their pairings, and removes the chats that only they connected. */
  removePerson(personId: string): Promise<void>
  /** Takes an update that Telegram sent to the webhook. Resolves to false if the secret is missing or wrong. */
  receive(headers: IncomingHttpHeaders, body: unknown): Promise<boolean>
}

/** What the records store of a shown card. */
interface SentMessage {
  message: number
  /** Whether the whole card is in a file above the message. */
  file: boolean
}

const DEFAULT_ID = 'telegram'
const UNPAIR_COMMAND = { command: 'unpair', description: 'answer here no more' }
const RECONNECT_AFTER_MS = 5000
const CALL_TIMEOUT_SECONDS = 60
/** When the connector stops, calls in progress have this long to arrive. */
const LAST_CALLS_MS = 3000
const UPDATE_TYPES = ['message', 'callback_query'] as const
const SECRET_HEADER = 'x-telegram-bot-api-secret-token'
/** Without previews: Telegram would fetch an address that is in a command. */
const NO_PREVIEW = { link_preview_options: { is_disabled: true } }

/**
 * A bot that shows interactions in Telegram chats: one message each, with buttons, which are removed when it is settled.
 * While Telegram cannot be reached, the bot keeps trying and reports the first failure to `onError`.
 *
 * @example
 * const connector = telegramConnector({ token, kv: store.kv, onError: console.error })
 * const desk = connectorDesk(host, store, { sessions: 'all' })
 * const running = runConnector({ connector, desk, onError: console.error })
 * const { code } = connector.pair({ id: 'ada', name: 'Ada' })
 */
export function telegramConnector(options: TelegramOptions): TelegramConnector {
  const { kv, clock = jumpAwareClock, onError, users = [], chats = [], webhookUrl, apiRoot } = options
  const { id = DEFAULT_ID } = options
  const bot = new Bot(options.token, {
    client: { ...(apiRoot !== undefined && { apiRoot }), timeoutSeconds: CALL_TIMEOUT_SECONDS },
  })
  const queue = new SendQueue(clock)
  const pairings = new Pairings({ kv, clock, users, connectorId: id, mayAct: options.mayAct })
  const handled = new HandledUpdates(kv, id)
  const webhookSecret = randomBytes(32).toString('hex')
  let updates: UpdateHandler | null = null
  let isStopped = false
  /** Only the first of several failed attempts to connect is reported. */
  let isFailureReported = false
  let cancelReconnect: () => void = () => undefined

  const report = (error: unknown) => {
    if (!isStopped) onError(plainError(error))
  }

  const abortCalls = new AbortController()
  bot.api.config.use((call, method, payload, signal) =>
    call(
      method,
      payload,
      signal ??
        // The library declares its own type for the standard AbortSignal.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
        (method === 'getUpdates' ? undefined : (abortCalls.signal as unknown as NonNullable<typeof signal>)),
    ),
  )

  async function connect(): Promise<void> {
    try {
      if (!bot.isInited()) bot.botInfo = await bot.api.getMe()
      if (isStopped) return
      isFailureReported = false
      // The menu of commands is a convenience, so its failure is ignored.
      bot.api.setMyCommands([...connectorCommands, UNPAIR_COMMAND]).catch(() => undefined)
      if (webhookUrl === undefined) await bot.start({ allowed_updates: UPDATE_TYPES })
      else
        await bot.api.setWebhook(webhookUrl, { secret_token: webhookSecret, allowed_updates: UPDATE_TYPES })
    } catch (error) {
      if (isStopped) return
      if (!isFailureReported) report(error)
      isFailureReported = true
      cancelReconnect = clock.alarm(clock.now() + RECONNECT_AFTER_MS, () => void connect())
    }
  }

  async function sendCard(
    chat: string,
    { text, entities, file }: MessageText,
    card: TextCard,
  ): Promise<Json> {
    if (file) {
      const document = new InputFile(Buffer.from(file.content), file.name)
      await queue.send(chat, 'show', () => bot.api.sendDocument(chat, document))
    }
    const reply_markup = { inline_keyboard: buttons(card) }
    const { message_id: message } = await formattedOrPlain(entities, (format) =>
      queue.send(chat, 'show', () =>
        bot.api.sendMessage(chat, text, { ...format, reply_markup, ...NO_PREVIEW }),
      ),
    )
    return { message, file: file !== null } satisfies SentMessage
  }

  /** Resolves to false if the message no longer exists. */
  async function editCard(
    chat: string,
    shown: Json,
    { text, entities }: MessageText,
    inline_keyboard: ReturnType<typeof buttons>,
  ): Promise<boolean> {
    const { message } = sentMessage(shown)
    try {
      await formattedOrPlain(entities, (format) =>
        queue.send(chat, 'close', () =>
          bot.api.editMessageText(chat, message, text, {
            ...format,
            reply_markup: { inline_keyboard },
            ...NO_PREVIEW,
          }),
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
    for (const message of splitText(text)) {
      await queue.send(chat, 'say', () => bot.api.sendMessage(chat, message, NO_PREVIEW))
    }
  }

  /** Visibly quoted, so that an agent cannot write a message that looks like one of Askback. */
  async function quote(chat: string, heading: string, text: string): Promise<void> {
    for (const [index, message] of splitText(`${heading}${spellOut(text, 'prose')}`).entries()) {
      const offset = index === 0 ? heading.length : 0
      const entities: MessageEntity[] = [
        { type: 'blockquote', offset, length: message.trimEnd().length - offset },
      ]
      await queue.send(chat, 'say', () => bot.api.sendMessage(chat, message, { entities, ...NO_PREVIEW }))
    }
  }

  return {
    id,
    via: 'telegram',
    async start(context) {
      await handled.load()
      for (const chat of chats) {
        const known = context.places().find(({ id }) => id === String(chat))
        if (!known) await context.setPlace(String(chat), { sessions: 'all' })
      }
      updates = new UpdateHandler({ bot, context, pairings, handled, say, onError: report })
      for (const personId of await pairings.revokedPeople()) await updates.removePerson(personId)
      bot.catch(({ error }) => report(error))
      void connect()
    },
    show: (chat, card) => sendCard(chat, cardText(card, clock.now()), card),
    async update(chat, shown, card) {
      const text = cardText(card, clock.now())
      if (text.file && !sentMessage(shown).file) {
        // A file cannot be added above a message that exists, so the card moves to a new message.
        const moved = { card, outcome: 'Shown again below.', settlement: 'step' as const }
        await editCard(chat, shown, closedText(moved, clock.now()), [])
        return sendCard(chat, text, card)
      }
      const exists = await editCard(chat, shown, text, buttons(card))
      return exists ? shown : sendCard(chat, text, card)
    },
    async close(chat, shown, closed) {
      updates?.rememberClosed(chat, sentMessage(shown).message)
      await editCard(chat, shown, closedText(closed, clock.now()), [])
    },
    say,
    async showEvent(chat, event) {
      if (event.type === 'text') await quote(chat, '', event.text)
      if (event.type === 'error') await quote(chat, 'Error:\n', event.message)
    },
    async stop() {
      isStopped = true
      cancelReconnect()
      queue.stop()
      setTimeout(() => abortCalls.abort(), LAST_CALLS_MS).unref()
      if (bot.isRunning()) await bot.stop().catch(() => undefined)
    },
    pair(by) {
      const pairing = pairings.newCode(by)
      return bot.isInited()
        ? { ...pairing, link: `https://t.me/${bot.botInfo.username}?start=${pairing.code}` }
        : pairing
    },
    async removePerson(personId) {
      if (updates) await updates.removePerson(personId)
      else await pairings.removePerson(personId)
    },
    async receive(headers, body) {
      if (webhookUrl === undefined || !isEqualSecret(headers[SECRET_HEADER], webhookSecret)) return false
      if (!bot.isInited()) throw new AskbackError('unavailable', 'The bot is not connected yet.')
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the secret proves that Telegram has sent it
      await bot.handleUpdate(body as Parameters<typeof bot.handleUpdate>[0])
      return true
    },
  }
}

/** Sends again without formatting if Telegram refuses it: a card that looks plain is better than none. */
async function formattedOrPlain<T>(
  entities: MessageEntity[],
  send: (format: { entities?: MessageEntity[] }) => Promise<T>,
): Promise<T> {
  try {
    return await send({ entities })
  } catch (error) {
    if (!isRefused(error) || isUnchanged(error) || isGone(error)) throw error
    return send({})
  }
}

/** Compares in constant time, so that the secret cannot be guessed from response times. */
function isEqualSecret(given: string | string[] | undefined, secret: string): boolean {
  if (typeof given !== 'string') return false
  const [a, b] = [Buffer.from(given), Buffer.from(secret)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** Reads a reference that `sendCard` made. */
function sentMessage(shown: Json): SentMessage {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the runner returns what `show` and `update` resolved to
  return shown as unknown as SentMessage
}
