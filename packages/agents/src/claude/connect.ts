import { randomUUID } from 'node:crypto'
import { jumpAwareClock, type ReportedEvent, type SessionHandle } from '@askback/core'
import { errorMessage } from '@askback/protocol'
import { agentError } from '../session/turn-log.js'
import { ClaudeTurnLog } from './claude-turn-log.js'
import { createClaudeHooks, type ClaudeCall, type ClaudeHooks, type ClaudeHooksOptions } from './hooks.js'
import { failureMessage } from './model-errors.js'
import { handedOverResult, type ApprovedPlan } from './plan-review.js'
import type { KnownMessage, ModelError, PermissionResult, ResultMessage, SdkMessage } from './sdk.js'

/** Options of `connectClaude`. */
export interface ConnectClaudeOptions extends ClaudeHooksOptions {
  /**
   * Called when a person has approved a plan. With `freshContext` the query then ends, and you start another one with
   * `prompt`.
   * @default the agent carries out every plan in its present context
   */
  onPlanApproved?: (approved: ApprovedPlan) => void
  /**
   * Makes the ids of turns.
   * @default random UUIDs
   */
  newId?: () => string
}

/** What `connectClaude` returns. */
export interface ConnectedClaude {
  /** To be spread into the options of `query()`. */
  options: ClaudeHooks
  /**
   * Yields what the query yields, and reports it to the session: turns, texts, tool calls and their results. If the query
   * throws, or you stop reading it, its turn ends.
   */
  observe<Message extends SdkMessage>(run: AsyncIterable<Message>): AsyncGenerator<Message, void>
}

/**
 * Connects a `query()` of your own to a session: people answer the agent's requests and see what it does. When the query is
 * interrupted or aborted, its pending requests are cancelled.
 *
 * @example
 * const claude = connectClaude(desk.session('release'), { cwd })
 * const run = query({ prompt, options: { cwd, permissionMode: 'default', ...claude.options } })
 * for await (const message of claude.observe(run)) console.log(message.type)
 */
export function connectClaude(session: SessionHandle, options: ConnectClaudeOptions = {}): ConnectedClaude {
  const { onPlanApproved, clock = jumpAwareClock, newId = randomUUID } = options
  const report = (...events: ReportedEvent[]) => session.report(...events)
  // Only the session's own agent can show unfinished blocks.
  const turnLog = new ClaudeTurnLog({ report, live: () => {} }, { clock, newId })
  let observers = 0
  /** The query is ended because another one carries its plan out. */
  let isHandedOver = false
  let modelError: ModelError | null = null

  async function planApproved(approved: ApprovedPlan, call: ClaudeCall): Promise<PermissionResult | null> {
    if (!onPlanApproved) return null
    if (!approved.freshContext) {
      onPlanApproved(approved)
      return null
    }
    await turnLog.report(handedOverResult(call.toolUseID))
    turnLog.calls.close(call.toolUseID)
    await turnLog.reportForgottenContext()
    isHandedOver = true
    onPlanApproved(approved)
    return { behavior: 'deny', message: 'The plan is carried out elsewhere.', interrupt: true }
  }

  async function record(message: KnownMessage): Promise<void> {
    if (message.type === 'result') return endTurn(message)
    if (message.type === 'system' && message.subtype === 'init') await turnLog.start()
    if (message.type === 'assistant') modelError = message.error ?? null
    await turnLog.record(message)
  }

  async function endTurn(result: ResultMessage): Promise<void> {
    turnLog.addResultUsage(result)
    if (isHandedOver) return turnLog.end('done')
    if (result.terminal_reason?.startsWith('aborted')) return turnLog.end('interrupted')
    if (!result.is_error && result.subtype === 'success') return turnLog.end('done')
    const said = result.errors?.join(' ') || result.result || result.subtype
    await turnLog.end('error', agentError(failureMessage(modelError, said)))
  }

  return {
    options: createClaudeHooks(session, options, {
      // Without an observer no message stream will bring the call.
      waitUntilLogged: (call) =>
        observers > 0 ? turnLog.calls.waitUntilLogged(call) : turnLog.calls.log(call),
      planApproved,
      planMissing: (missing) => turnLog.reportMissingPlan(missing),
    }),
    async *observe(run) {
      observers += 1
      isHandedOver = false
      turnLog.newConversation()
      try {
        for await (const message of run) {
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- types that are not known are ignored
          await record(message as unknown as KnownMessage)
          yield message
        }
      } catch (failure) {
        if (isHandedOver) return
        if (!isAbort(failure)) await turnLog.end('error', agentError(errorMessage(failure)))
        throw failure
      } finally {
        observers -= 1
        // Does nothing if the turn has ended by itself.
        await turnLog.end(isHandedOver ? 'done' : 'interrupted')
      }
    },
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || /aborted/i.test(error.message))
}
