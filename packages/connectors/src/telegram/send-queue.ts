import type { Clock } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import { GrammyError, HttpError } from 'grammy'

/** What is sent first while Telegram limits the rate: closing a card, then showing one, then everything else. */
export type Urgency = 'close' | 'show' | 'say'

interface QueuedCall {
  urgency: Urgency
  send: () => Promise<unknown>
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

/** A token bucket and a queue for one chat. */
interface ChatQueue {
  calls: QueuedCall[]
  /** How many calls may be sent now. Refills with time. */
  tokens: number
  refilledAt: number
  blockedUntil: number
  isSending: boolean
  cancelTimer: () => void
}

const RANKS: Record<Urgency, number> = { close: 0, show: 1, say: 2 }
const MAX_TOKENS = 5
/** A settled card must not look open for long, so closing one may overdraw the bucket by this many calls. */
const CLOSE_OVERDRAFT = 3
/** Telegram's limits: one message per second in a private chat, and twenty per minute in a group. */
const PRIVATE_PER_SECOND = 1
const GROUP_PER_SECOND = 1 / 3

/**
 * Sends within Telegram's limits, separately for each chat, so that a busy chat does not delay the others. If Telegram
 * answers with `retry_after`, the chat waits as long as it says, and the call is sent again.
 */
export class SendQueue {
  readonly #clock: Clock
  readonly #chats = new Map<string, ChatQueue>()
  #isStopped = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Rejects with an `AskbackError` in plain words, and with `unavailable` once the queue is stopped. */
  send<T>(chat: string, urgency: Urgency, send: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#isStopped) return reject(stopping())
      const { calls } = this.#chat(chat)
      const at = calls.findLastIndex((call) => RANKS[call.urgency] <= RANKS[urgency]) + 1
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the queue resolves it with what this `send` resolves to
      calls.splice(at, 0, { urgency, send, resolve: resolve as QueuedCall['resolve'], reject })
      this.#sendNext(chat)
    })
  }

  stop(): void {
    this.#isStopped = true
    for (const { calls, cancelTimer } of this.#chats.values()) {
      cancelTimer()
      for (const call of calls.splice(0)) call.reject(stopping())
    }
  }

  #sendNext(id: string): void {
    const chat = this.#chat(id)
    if (chat.isSending || chat.calls.length === 0 || this.#isStopped) return
    const waitMs = this.#waitMs(id, chat)
    chat.cancelTimer()
    if (waitMs > 0) {
      chat.cancelTimer = this.#clock.alarm(this.#clock.now() + waitMs, () => this.#sendNext(id))
      return
    }
    chat.tokens -= 1
    chat.isSending = true
    const call = chat.calls.shift()!
    void this.#perform(chat, call).finally(() => {
      chat.isSending = false
      this.#sendNext(id)
    })
  }

  async #perform(chat: ChatQueue, call: QueuedCall): Promise<void> {
    try {
      call.resolve(await call.send())
    } catch (error) {
      const seconds = error instanceof GrammyError ? error.parameters.retry_after : undefined
      if (seconds === undefined || this.#isStopped) return call.reject(plainError(error))
      chat.blockedUntil = this.#clock.now() + seconds * 1000
      chat.calls.unshift(call)
    }
  }

  /** Refills the bucket, and returns how long the next call has to wait. */
  #waitMs(id: string, chat: ChatQueue): number {
    const now = this.#clock.now()
    // The ids of groups are negative.
    const perSecond = id.startsWith('-') ? GROUP_PER_SECOND : PRIVATE_PER_SECOND
    const refill = (Math.max(now - chat.refilledAt, 0) / 1000) * perSecond
    chat.tokens = Math.min(MAX_TOKENS, chat.tokens + refill)
    chat.refilledAt = now
    const needed = chat.calls[0]?.urgency === 'close' ? 1 - CLOSE_OVERDRAFT : 1
    const bucketMs = chat.tokens >= needed ? 0 : ((needed - chat.tokens) / perSecond) * 1000
    return Math.ceil(Math.max(bucketMs, chat.blockedUntil - now))
  }

  #chat(id: string): ChatQueue {
    let chat = this.#chats.get(id)
    if (!chat) {
      chat = {
        calls: [],
        tokens: MAX_TOKENS,
        refilledAt: this.#clock.now(),
        blockedUntil: 0,
        isSending: false,
        cancelTimer: () => undefined,
      }
      this.#chats.set(id, chat)
    }
    return chat
  }
}

function stopping(): AskbackError {
  return new AskbackError('unavailable', 'The bot is stopping.')
}

/** An error of the Bot API in plain words, and without the address of the request, which contains the bot's token. */
export function plainError(error: unknown): unknown {
  if (error instanceof HttpError) return new AskbackError('unavailable', 'Telegram cannot be reached.')
  if (!(error instanceof GrammyError)) return error
  const { error_code: code, description, parameters, method } = error
  const message = `Telegram refused ${method}: ${description}`
  if (code === 429) {
    const retryAfterMs = (parameters.retry_after ?? 1) * 1000
    return new AskbackError('rate_limited', message, { details: { retryAfterMs } })
  }
  if (code >= 500) return new AskbackError('unavailable', message)
  if (code === 401 || code === 404) {
    return new AskbackError('unauthorized', 'Telegram does not know this bot token. Get one from @BotFather.')
  }
  return new AskbackError(code === 403 ? 'forbidden' : 'invalid_request', message)
}

/** The message already looked like the edit. */
export function isUnchanged(error: unknown): boolean {
  return refusalText(error).includes('message is not modified')
}

/** The message was deleted, or is too old to be edited. */
export function isGone(error: unknown): boolean {
  return /message to edit not found|message can't be edited|MESSAGE_ID_INVALID|message_id/i.test(
    refusalText(error),
  )
}

export function isRefused(error: unknown): error is AskbackError {
  return error instanceof AskbackError && error.code === 'invalid_request'
}

function refusalText(error: unknown): string {
  return isRefused(error) ? error.message : ''
}
