import { randomUUID } from 'node:crypto'
import { systemClock, type Reported, type SessionHandle } from '@askback/core'
import { messageOf, problem } from '../session/peer-agent.js'
import { createClaudeHooks, type Call, type ClaudeHooks, type ClaudeHooksOptions } from './hooks.js'
import { failureOf } from './model-trouble.js'
import { planApproved, type ApprovedPlan } from './plan-review.js'
import type { KnownMessage, ModelError, PermissionResult, ResultMessage, SdkMessage } from './sdk.js'
import { TurnLog } from './turn-log.js'

export interface ConnectClaudeOptions extends ClaudeHooksOptions {
  /**
   * Called when a person has approved a plan. With `freshContext` the query then ends, and it is yours to start another one
   * with `prompt`. Without this option the agent carries out every plan in the context that it has.
   */
  onPlan?: (approved: ApprovedPlan) => void
  newId?: () => string
}

export interface ConnectedClaude {
  /** To spread into the options of `query()`. */
  options: ClaudeHooks
  /**
   * Yields what the query yields, and reports it to the session: turns, texts, tool calls and their results. A query that
   * throws, or that you stop reading, ends its turn.
   */
  observe<Message extends SdkMessage>(run: AsyncIterable<Message>): AsyncGenerator<Message, void>
}

/**
 * Connects a `query()` of your own to a session: people answer what the agent asks and see what it does. When the query is
 * interrupted or aborted, what it waits for is cancelled.
 *
 * @example
 * const claude = connectClaude(desk.session('release'), { cwd })
 * const run = query({ prompt, options: { cwd, permissionMode: 'default', ...claude.options } })
 * for await (const message of claude.observe(run)) console.log(message.type)
 */
export function connectClaude(session: SessionHandle, options: ConnectClaudeOptions = {}): ConnectedClaude {
  const { onPlan, clock = systemClock, newId = randomUUID } = options
  const report = (...events: Reported[]) => session.report(...events)
  // Nobody outside the session's own agent has a way to show what is not finished.
  const turn = new TurnLog({ report, live: () => {} }, { clock, newId })
  let observers = 0
  /** The query was ended because its plan is carried out by another one. */
  let isHandedOver = false
  let error: ModelError | null = null

  async function planDecided(approved: ApprovedPlan, call: Call): Promise<PermissionResult | null> {
    if (!onPlan) return null
    if (!approved.freshContext) {
      onPlan(approved)
      return null
    }
    const approval = planApproved(call.toolUseID)
    await turn.report(approval)
    turn.calls.end(approval)
    await turn.forgetConversation()
    isHandedOver = true
    onPlan(approved)
    return { behavior: 'deny', message: 'The plan is carried out elsewhere.', interrupt: true }
  }

  async function record(message: KnownMessage): Promise<void> {
    if (message.type === 'result') return ended(message)
    if (message.type === 'system' && message.subtype === 'init') await turn.start()
    if (message.type === 'assistant') error = message.error ?? null
    await turn.record(message)
  }

  async function ended(result: ResultMessage): Promise<void> {
    turn.count(result)
    if (isHandedOver) return turn.end('done')
    if (result.terminal_reason?.startsWith('aborted')) return turn.end('interrupted')
    if (!result.is_error && result.subtype === 'success') return turn.end('done')
    const said = result.errors?.join(' ') || result.result || result.subtype
    await turn.end('error', problem(failureOf(error, said)))
  }

  return {
    options: createClaudeHooks(session, options, {
      announce: (call) => (observers > 0 ? turn.calls.announce(call) : turn.calls.put(call)),
      planApproved: planDecided,
      planMissing: (missing) => turn.planMissing(missing),
    }),
    async *observe(run) {
      observers += 1
      isHandedOver = false
      turn.newConversation()
      try {
        for await (const message of run) {
          await record(message as unknown as KnownMessage)
          yield message
        }
      } catch (failure) {
        if (isHandedOver) return
        if (!isAbort(failure)) await turn.end('error', problem(messageOf(failure)))
        throw failure
      } finally {
        observers -= 1
        // Of a turn that ended by itself nothing is left to end.
        await turn.end(isHandedOver ? 'done' : 'interrupted')
      }
    },
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || /aborted/i.test(error.message))
}
