import { join } from 'node:path'
import type { AgentContext, AgentProcess, Clock, ReportedEvent } from '@askback/core'
import type { PermissionMode } from '@askback/protocol'
import { BaseAgentProcess, type ContinueOptions } from '../session/base-agent-process.js'
import { withConversationRecord } from '../session/conversation-record.js'
import { planMessage } from '../session/model-messages.js'
import { isFreshPlan, unansweredRequests, type InterruptedTurn } from '../session/resume.js'
import { ClaudeProgram, sdkMode, type UnacceptedMessage } from './claude-program.js'
import { ClaudeTurnLog } from './claude-turn-log.js'
import { Conversation, type ConversationEnd } from './conversation.js'
import { createClaudeHooks, type ClaudeCall, type ClaudeHooks } from './hooks.js'
import { isDeferred } from './parking.js'
import { handedOverResult } from './plan-review.js'
import type { ClaudeSdk, PermissionResult, QueryOptions, SdkMode } from './sdk.js'
import type { ToolKinds } from './tool-kinds.js'

export interface ClaudeProcessOptions {
  sdk: ClaudeSdk
  query: QueryOptions
  /** Where Claude Code stores its conversations and plans. */
  configFolder: string | null
  /** How long a process waits for a person before it ends, in milliseconds; `null` without a limit. */
  parkAfterMs: number | null
  timeoutMs?: number | null
  tools?: ToolKinds
  clock: Clock
  newId: () => string
}

/**
 * The Claude of one session. It has one conversation at a time, which is one process of Claude Code and lasts over many
 * turns. A plan that is to be carried out in a fresh context starts another conversation.
 */
export class ClaudeProcess extends BaseAgentProcess<ClaudeTurnLog> implements AgentProcess {
  readonly #options: ClaudeProcessOptions
  #conversation: Conversation | null = null
  #mode: SdkMode

  constructor(context: AgentContext, options: ClaudeProcessOptions) {
    super(context, { turnLog: new ClaudeTurnLog(context, options), clock: options.clock })
    this.#options = options
    this.#mode = sdkMode(context.permissionMode)
    this.resumeTurn()
  }

  async send({ text, turnId }: { text: string; turnId: string }): Promise<void> {
    this.turnLog.begin(turnId)
    this.#program().send(text)
  }

  async interrupt(): Promise<void> {
    if (!this.turnLog.isOpen) return
    this.cancelResume()
    if (this.#conversation) await this.#conversation.interrupt()
    else await this.endTurn('interrupted')
  }

  async setPermissionMode(mode: PermissionMode): Promise<void> {
    this.#mode = sdkMode(mode)
    await this.#conversation?.program.setMode(this.#mode)
  }

  canBeFreed(): boolean {
    return !this.turnLog.isOpen && this.#conversation?.isIdle !== false
  }

  protected override async killProgram(): Promise<void> {
    await this.#conversation?.leave()
  }

  #program(): ClaudeProgram {
    return (this.#conversation ??= this.#newConversation(this.context.agentSessionId)).program
  }

  #newConversation(resume: string | null): Conversation {
    const { sdk, query, clock } = this.#options
    const options = { ...query, permissionMode: this.#mode, ...(resume !== null && { resume }) }
    this.turnLog.newConversation()
    return new Conversation(new ClaudeProgram(sdk, options, this.#hooks()), {
      turnLog: this.turnLog,
      clock,
      isResumed: resume !== null,
      endTurn: (reason, ...events) => this.endTurn(reason, ...events),
      ended: (end) => this.#conversationEnded(end),
      failed: (error) => void this.fail(error),
    })
  }

  #hooks(): ClaudeHooks {
    const { configFolder, timeoutMs, tools, parkAfterMs, clock } = this.#options
    const { session, cwd } = this.context
    const { calls } = this.turnLog
    const canPark = (id: string) => calls.isOnlyOpen(id) && this.#conversation?.isIdle === true
    return createClaudeHooks(
      session,
      {
        cwd,
        plansFolder: configFolder === null ? null : join(configFolder, 'plans'),
        signal: this.stopSignal,
        clock,
        ...(timeoutMs !== undefined && { timeoutMs }),
        ...(tools && { tools }),
      },
      {
        waitUntilLogged: (call) => calls.waitUntilLogged(call),
        planApproved: async ({ plan, freshContext }, call) =>
          freshContext ? this.#handPlanOver(plan, call) : null,
        planMissing: (error) => this.turnLog.reportMissingPlan(error),
        adapter: {
          grants: this.grants,
          memoryFolder: configFolder === null ? null : join(configFolder, 'projects'),
          parking: parkAfterMs === null ? null : { afterMs: parkAfterMs, canPark },
        },
      },
    )
  }

  async #conversationEnded(end: ConversationEnd): Promise<void> {
    if (this.isStopped) return
    if (end.how === 'forgotten') return this.#startOver(end.unaccepted)
    this.setEnded(end)
  }

  /** Claude Code may lose a conversation if it is killed at the wrong moment. What it was sent is sent again. */
  async #startOver(messages: UnacceptedMessage[]): Promise<void> {
    await this.turnLog.reportLostConversation('Claude')
    const [first, ...rest] = messages
    const text = first && (await withConversationRecord(this.context.session, first.text))
    const { program } = (this.#conversation = this.#newConversation(null))
    if (first && text !== undefined) program.send(text, first.id)
    for (const message of rest) program.send(message.text, message.id)
  }

  async #handPlanOver(plan: string, call: ClaudeCall): Promise<PermissionResult> {
    await this.#startFresh(planMessage(plan), [handedOverResult(call.toolUseID)])
    return { behavior: 'deny', message: 'The plan is carried out elsewhere.' }
  }

  /** From the first line on, the old context is not resumed any more, even if this process is lost before the new one runs. */
  async #startFresh(message: string, results: ReportedEvent[]): Promise<void> {
    const before = this.#conversation
    await this.turnLog.reportForgottenContext()
    for (const event of results) if (event.type === 'tool_result') this.turnLog.calls.close(event.toolCallId)
    this.#mode = 'default'
    this.#conversation = this.#newConversation(null)
    this.turnLog.reportOnceAccepted(this.#conversation.program.send(message), results)
    await before?.leave()
  }

  /** A parked program asks again about the call that it has deferred, and finds the answer. */
  protected override async resumeCall({ turnId, state }: InterruptedTurn): Promise<boolean> {
    const [request, ...others] = unansweredRequests(state, turnId)
    if (!request || others.length > 0 || isFreshPlan(request)) return false
    const { toolName, toolCallId } = request
    if (!(await isDeferred(this.#options.configFolder, this.context.agentSessionId, toolCallId))) return false
    if (state.toolCalls.some((call) => call.toolCallId === toolCallId)) this.turnLog.calls.add(toolCallId)
    // Claude Code accepts ExitPlanMode only in plan mode, even if the session has left that mode since.
    if (toolName === 'ExitPlanMode') this.#mode = 'plan'
    this.#program()
    return true
  }

  protected override async continueTurn(
    message: string,
    { isFreshContext, results }: ContinueOptions,
  ): Promise<void> {
    const { session } = await this.context.session.snapshot()
    this.#mode = sdkMode(session.permissionMode)
    if (isFreshContext) return this.#startFresh(message, results)
    this.turnLog.reportOnceAccepted(this.#program().send(message), results)
  }
}
