/**
 * Reads the messages of one Claude Code process to their end, and records them in the turn log.
 *
 *     reading ── result ──▶ reading           the turn ends, unless more messages were sent
 *        ├────── result `tool_deferred` ──▶ parked      a person has not answered in time (see parking.ts)
 *        ├────── the conversation is unknown ──▶ forgotten
 *        ├────── the process ends ──▶ lost
 *        └────── leave() ──▶ killed, and nothing is reported
 */
import type { Clock, ReportedEvent } from '@askback/core'
import { pause } from '../session/call-request.js'
import { agentError, type TurnEndReason } from '../session/turn-log.js'
import type { ClaudeProgram, UnacceptedMessage } from './claude-program.js'
import type { ClaudeTurnLog } from './claude-turn-log.js'
import { failureMessage, retryNotice, unrecoverableError } from './model-errors.js'
import type { KnownMessage, ModelError, ResultMessage, RetryMessage } from './sdk.js'

const INTERRUPT_TIMEOUT_MS = 5000
/** What Claude Code prints when it is to resume a conversation that it has no record of. */
const UNKNOWN_CONVERSATION = 'No conversation found'

export type ConversationEnd =
  | { how: 'parked' }
  | { how: 'forgotten'; unaccepted: UnacceptedMessage[] }
  | { how: 'lost'; message: string }

interface ConversationOptions {
  turnLog: ClaudeTurnLog
  clock: Clock
  /** Whether it continues an earlier conversation, which Claude Code may have forgotten. */
  isResumed: boolean
  endTurn: (reason: TurnEndReason, ...events: ReportedEvent[]) => Promise<void>
  /** Called when the process has ended by itself. */
  ended: (end: ConversationEnd) => Promise<void>
  failed: (error: unknown) => void
}

export class Conversation {
  readonly program: ClaudeProgram
  readonly #options: ConversationOptions
  readonly #read: Promise<void>
  #isLeft = false
  #isParked = false
  #isForgotten = false
  #backgroundTasks = 0
  /** Set while an interrupt waits for the end of the turn. */
  #resolveInterrupt: (() => void) | null = null
  /** Why Claude Code was stopped from asking its model again. */
  #unrecoverable: string | null = null
  #modelError: ModelError | null = null

  constructor(program: ClaudeProgram, options: ConversationOptions) {
    this.program = program
    this.#options = options
    this.#read = this.#readMessages().catch(options.failed)
  }

  /** Whether Claude Code has nothing to do but to wait for a person. */
  get isIdle(): boolean {
    return !this.program.hasUnaccepted && this.#backgroundTasks === 0
  }

  /** Claude Code is interrupted before its pending calls get an answer: an answer would make it ask its model once more. */
  async interrupt(): Promise<void> {
    const turnEnded = new Promise<void>((resolve) => {
      this.#resolveInterrupt = resolve
    })
    const { clock, turnLog } = this.#options
    const done = new AbortController()
    const timeout = pause(clock, INTERRUPT_TIMEOUT_MS, done.signal)
    await Promise.race([this.program.interrupt().catch(() => {}), timeout])
    await Promise.race([turnEnded, timeout])
    done.abort()
    if (!turnLog.isOpen) return
    await this.program.kill()
    await Promise.race([turnEnded, this.#read])
  }

  /** Kills the process and ignores everything that it still says. */
  async leave(): Promise<void> {
    this.#isLeft = true
    await this.program.kill()
  }

  async #readMessages(): Promise<void> {
    let failure: unknown = null
    try {
      for await (const message of this.program.query) {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- types that are not known are ignored
        if (!this.#isLeft) await this.#handle(message as KnownMessage)
      }
    } catch (error) {
      failure = error
    }
    await this.program.kill()
    if (this.#isLeft) return
    const reason = [failure instanceof Error ? failure.message : '', this.program.stderr]
      .filter(Boolean)
      .join(' ')
    if (this.#resolveInterrupt) await this.#endTurn('interrupted')
    await this.#options.ended(this.#endOf(reason))
  }

  #endOf(reason: string): ConversationEnd {
    if (this.#isParked) return { how: 'parked' }
    if (this.#isForgotten || this.#saysForgotten(reason))
      return { how: 'forgotten', unaccepted: this.program.unaccepted }
    return { how: 'lost', message: reason === '' ? 'Claude Code ended.' : `Claude Code ended: ${reason}` }
  }

  async #handle(message: KnownMessage): Promise<void> {
    switch (message.type) {
      case 'system':
        if (message.subtype === 'api_retry') return this.#handleRetry(message)
        if (message.subtype === 'background_tasks_changed') this.#backgroundTasks = message.tasks.length
        break
      case 'assistant':
        this.#modelError = message.error ?? null
        break
      case 'user':
        if (message.uuid !== undefined) await this.#messageAccepted(message.uuid)
        break
      case 'result':
        return this.#handleResult(message)
      default:
    }
    // After an interrupt Claude Code sends the blocks that it had begun.
    await this.#options.turnLog.record(message, this.#resolveInterrupt !== null)
  }

  async #messageAccepted(id: string): Promise<void> {
    this.program.messageAccepted(id)
    await this.#options.turnLog.messageAccepted(id)
  }

  async #handleRetry(retry: RetryMessage): Promise<void> {
    this.#unrecoverable ??= unrecoverableError(retry)
    if (this.#unrecoverable !== null) return void this.program.interrupt().catch(() => {})
    const notice = retryNotice(retry)
    if (notice !== null) await this.#options.turnLog.reportNotice('agent_retries', notice)
  }

  async #handleResult(result: ResultMessage): Promise<void> {
    if (result.stop_reason === 'tool_deferred') {
      this.#isParked = true
      return this.program.finish()
    }
    this.#options.turnLog.addResultUsage(result)
    if (this.#resolveInterrupt) return this.#endTurn('interrupted')
    const errors = result.errors?.join(' ') ?? ''
    // Claude Code ends now, and `ended` starts a new conversation.
    if (this.#saysForgotten(errors)) return void (this.#isForgotten = true)
    // Local slash commands are accepted here and nowhere else.
    for (const id of result.user_message_uuids ?? []) await this.#messageAccepted(id)
    if (this.#unrecoverable !== null) await this.#endTurn('error', agentError(this.#unrecoverable))
    else if (result.is_error || result.subtype !== 'success') {
      const message = failureMessage(this.#modelError, errors || result.result || result.subtype)
      await this.#endTurn('error', agentError(message))
    } else if (!this.program.hasUnaccepted) await this.#endTurn('done')
  }

  #saysForgotten(reason: string): boolean {
    return this.#options.isResumed && reason.includes(UNKNOWN_CONVERSATION)
  }

  async #endTurn(reason: TurnEndReason, ...events: ReportedEvent[]): Promise<void> {
    const resolveInterrupt = this.#resolveInterrupt
    this.#resolveInterrupt = null
    this.#unrecoverable = null
    await this.#options.endTurn(reason, ...events)
    resolveInterrupt?.()
  }
}
