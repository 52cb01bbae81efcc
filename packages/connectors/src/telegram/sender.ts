import { AskbackError } from '@askback/protocol'
import type { Clock } from '@askback/core'
import { GrammyError, HttpError } from 'grammy'

/** What is sent first, if Telegram lets us send only so much. */
export type Urgency = 'close' | 'show' | 'say'

interface Job {
  urgency: Urgency
  send: () => Promise<unknown>
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}

interface Chat {
  jobs: Job[]
  /** How many may be sent at once; comes back with time. */
  allowance: number
  countedAt: number
  blockedUntil: number
  isSending: boolean
  disarm: () => void
}

const ranks: Record<Urgency, number> = { close: 0, show: 1, say: 2 }
const BURST = 5
/** What is settled should not be seen as open: edits may go this far beyond. */
const OVERDRAFT = 3
const PRIVATE_PER_SECOND = 1
/** Twenty a minute. */
const GROUP_PER_SECOND = 1 / 3

/** Sends within Telegram's limits, chat by chat, and waits as long as it says when it says so. */
export class Sender {
  readonly #clock: Clock
  readonly #chats = new Map<string, Chat>()
  #stopped = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  send<T>(chat: string, urgency: Urgency, send: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#stopped) return reject(new AskbackError('unavailable', 'The bot is stopping.'))
      const { jobs } = this.#chat(chat)
      const at = jobs.findLastIndex((job) => ranks[job.urgency] <= ranks[urgency]) + 1
      jobs.splice(at, 0, { urgency, send, resolve: resolve as Job['resolve'], reject })
      this.#next(chat)
    })
  }

  stop(): void {
    this.#stopped = true
    for (const { jobs, disarm } of this.#chats.values()) {
      disarm()
      for (const job of jobs.splice(0)) job.reject(new AskbackError('unavailable', 'The bot is stopping.'))
    }
  }

  #next(id: string): void {
    const chat = this.#chat(id)
    if (chat.isSending || chat.jobs.length === 0 || this.#stopped) return
    const wait = this.#waitFor(id, chat)
    chat.disarm()
    if (wait > 0) {
      chat.disarm = this.#clock.alarm(this.#clock.now() + wait, () => this.#next(id))
      return
    }
    chat.allowance -= 1
    chat.isSending = true
    const job = chat.jobs.shift()!
    void this.#run(chat, job).finally(() => {
      chat.isSending = false
      this.#next(id)
    })
  }

  async #run(chat: Chat, job: Job): Promise<void> {
    try {
      job.resolve(await job.send())
    } catch (error) {
      const seconds = error instanceof GrammyError ? error.parameters.retry_after : undefined
      if (seconds === undefined || this.#stopped) return job.reject(readable(error))
      chat.blockedUntil = this.#clock.now() + seconds * 1000
      chat.jobs.unshift(job)
    }
  }

  #waitFor(id: string, chat: Chat): number {
    const now = this.#clock.now()
    const perSecond = id.startsWith('-') ? GROUP_PER_SECOND : PRIVATE_PER_SECOND
    chat.allowance = Math.min(BURST, chat.allowance + (Math.max(now - chat.countedAt, 0) / 1000) * perSecond)
    chat.countedAt = now
    const needed = chat.jobs[0]?.urgency === 'close' ? 1 - OVERDRAFT : 1
    const allowed = chat.allowance >= needed ? 0 : ((needed - chat.allowance) / perSecond) * 1000
    return Math.ceil(Math.max(allowed, chat.blockedUntil - now))
  }

  #chat(id: string): Chat {
    let chat = this.#chats.get(id)
    if (!chat) {
      const countedAt = this.#clock.now()
      chat = {
        jobs: [],
        allowance: BURST,
        countedAt,
        blockedUntil: 0,
        isSending: false,
        disarm: () => undefined,
      }
      this.#chats.set(id, chat)
    }
    return chat
  }
}

/** In our words, and without the address of the request: that holds the token. */
export function readable(error: unknown): unknown {
  if (error instanceof HttpError) return new AskbackError('unavailable', 'Telegram cannot be reached.')
  if (!(error instanceof GrammyError)) return error
  const { error_code: code, description, parameters, method } = error
  const said = `Telegram refused ${method}: ${description}`
  if (code === 429) {
    const retryAfterMs = (parameters.retry_after ?? 1) * 1000
    return new AskbackError('rate_limited', said, { details: { retryAfterMs } })
  }
  if (code >= 500) return new AskbackError('unavailable', said)
  if (code === 401 || code === 404) {
    return new AskbackError('unauthorized', 'Telegram does not know this bot token. Get one from @BotFather.')
  }
  return new AskbackError(code === 403 ? 'forbidden' : 'invalid_request', said)
}

export function isUnchanged(error: unknown): boolean {
  return refusal(error).includes('message is not modified')
}

/** Deleted, or too old to be edited. */
export function isGone(error: unknown): boolean {
  return /message to edit not found|message can't be edited|MESSAGE_ID_INVALID|message_id/i.test(
    refusal(error),
  )
}

export function isRefused(error: unknown): boolean {
  return error instanceof AskbackError && error.code === 'invalid_request'
}

function refusal(error: unknown): string {
  return isRefused(error) ? (error as AskbackError).message : ''
}
