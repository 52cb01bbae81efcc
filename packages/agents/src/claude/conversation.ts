import type { Clock, Reported } from '@askback/core'
import { pause } from '../session/asking.js'
import { failureOf, hopeless, retryNotice } from './model-trouble.js'
import type { ClaudeRun, Mail } from './run.js'
import type { KnownMessage, ModelError, ResultMessage, RetryMessage } from './sdk.js'
import type { TurnLog } from './turn-log.js'

const INTERRUPT_MS = 5000
const FORGOTTEN = 'No conversation found'

/** How the program of a conversation went: it waits for a person, knows nothing of the conversation, or went down. */
export type ConversationEnd =
  | { how: 'parked' }
  | { how: 'forgotten'; mail: Mail }
  | { how: 'lost'; message: string }

export type TurnReason = 'done' | 'error' | 'interrupted'

interface ConversationOptions {
  turn: TurnLog
  clock: Clock
  /** Whether it goes on with an earlier one, which the program may have lost. */
  isResumed: boolean
  /** Ends the turn; `done` unless there is more to come. */
  endTurn: (reason: TurnReason, ...events: Reported[]) => Promise<void>
  /** The program has ended, and nobody has left the conversation. */
  ended: (end: ConversationEnd) => Promise<void>
  failed: (error: unknown) => void
}

/** One program, read to its end: what it says goes into the log of the turn. */
export class Conversation {
  readonly run: ClaudeRun
  readonly #options: ConversationOptions
  readonly #read: Promise<void>
  /** Nobody reads it any more. */
  #isLeft = false
  #isParked = false
  #inBackground = 0
  #isForgotten = false
  #interrupted: (() => void) | null = null
  /** Why the program was stopped from trying again. */
  #hopeless: string | null = null
  #error: ModelError | null = null

  constructor(run: ClaudeRun, options: ConversationOptions) {
    this.run = run
    this.#options = options
    this.#read = this.#readAll().catch(options.failed)
  }

  /** Whether it has nothing to do but to wait for a person: it has no mail, and nothing runs in the background. */
  get isIdle(): boolean {
    return !this.run.hasMail && this.#inBackground === 0
  }

  /** Interrupts before anything else: an answer to the agent's call would make it ask its model once more. */
  async interrupt(): Promise<void> {
    const over = new Promise<void>((resolve) => {
      this.#interrupted = resolve
    })
    const { clock, turn } = this.#options
    const timeout = new AbortController()
    const late = pause(clock, INTERRUPT_MS, timeout.signal)
    await Promise.race([this.run.interrupt().catch(() => {}), late])
    await Promise.race([over, late])
    timeout.abort()
    if (!turn.isOpen) return
    await this.run.kill()
    await Promise.race([over, this.#read])
  }

  /** Ends it, whatever it still says. */
  async leave(): Promise<void> {
    this.#isLeft = true
    await this.run.kill()
  }

  async #readAll(): Promise<void> {
    let failure: unknown = null
    try {
      for await (const message of this.run.query) {
        if (!this.#isLeft) await this.#handle(message as KnownMessage)
      }
    } catch (error) {
      failure = error
    }
    await this.run.kill()
    if (this.#isLeft) return
    const why = [failure instanceof Error ? failure.message : '', this.run.complaint]
      .filter(Boolean)
      .join(' ')
    if (this.#interrupted) await this.#endTurn('interrupted')
    await this.#options.ended(this.#endOf(why))
  }

  #endOf(why: string): ConversationEnd {
    if (this.#isParked) return { how: 'parked' }
    if (this.#isForgotten || this.#forgets(why)) return { how: 'forgotten', mail: this.run.mail }
    return { how: 'lost', message: why === '' ? 'Claude Code ended.' : `Claude Code ended: ${why}` }
  }

  async #handle(message: KnownMessage): Promise<void> {
    switch (message.type) {
      case 'system':
        if (message.subtype === 'api_retry') return this.#retry(message)
        if (message.subtype === 'background_tasks_changed') this.#inBackground = message.tasks.length
        break
      case 'assistant':
        this.#error = message.error ?? null
        break
      case 'user':
        if (message.uuid !== undefined) await this.#acknowledge(message.uuid)
        break
      case 'result':
        return this.#result(message)
      default:
    }
    // What it says after an interrupt is what it was saying then.
    await this.#options.turn.record(message, this.#interrupted !== null)
  }

  /** Claude Code has processed the message of this id. */
  async #acknowledge(id: string): Promise<void> {
    this.run.taken(id)
    await this.#options.turn.taken(id)
  }

  async #retry(retry: RetryMessage): Promise<void> {
    const { turn } = this.#options
    this.#hopeless ??= hopeless(retry)
    if (this.#hopeless !== null) return void this.run.interrupt().catch(() => {})
    const message = retryNotice(retry)
    if (message !== null) await turn.report({ type: 'error', code: 'agent_retries', message, fatal: false })
  }

  async #result(result: ResultMessage): Promise<void> {
    const { turn } = this.#options
    if (result.stop_reason === 'tool_deferred') {
      this.#isParked = true
      return this.run.finish()
    }
    turn.count(result)
    if (this.#interrupted) return this.#endTurn('interrupted')
    const errors = result.errors?.join(' ') ?? ''
    const said = errors || result.result || result.subtype
    // The program ends now, and is started over.
    if (this.#forgets(errors)) return void (this.#isForgotten = true)
    for (const id of result.user_message_uuids ?? []) await this.#acknowledge(id)
    if (this.#hopeless !== null) await this.#fail(this.#hopeless)
    else if (result.is_error || result.subtype !== 'success') await this.#fail(failureOf(this.#error, said))
    else if (!this.run.hasMail) await this.#endTurn('done')
  }

  #forgets(why: string): boolean {
    return this.#options.isResumed && why.includes(FORGOTTEN)
  }

  async #fail(message: string): Promise<void> {
    await this.#endTurn('error', { type: 'error', code: 'agent_error', message, fatal: false })
  }

  async #endTurn(reason: TurnReason, ...events: Reported[]): Promise<void> {
    const interrupted = this.#interrupted
    this.#interrupted = null
    this.#hopeless = null
    await this.#options.endTurn(reason, ...events)
    interrupted?.()
  }
}
