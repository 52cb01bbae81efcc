import { join } from 'node:path'
import {
  AGENT_LOST,
  type AgentContext,
  type AgentProcess,
  type Clock,
  type Ending,
  type Reported,
} from '@askback/core'
import type { Interaction, PermissionMode, SessionStateJson } from '@askback/protocol'
import { Conversation, type ConversationEnd, type TurnReason } from './conversation.js'
import { Grants } from '../session/grants.js'
import { createClaudeHooks, type Call, type ClaudeHooks } from './hooks.js'
import { planMessage } from '../session/plan.js'
import { planApproved } from './plan-review.js'
import { resumeMessage, type Outcome } from '../session/outcome.js'
import { ClaudeRun, sdkMode, type Mail } from './run.js'
import { takeUp } from './take-up.js'
import { TurnLog } from './turn-log.js'
import type { ClaudeSdk, PermissionResult, QueryOptions, SdkMode } from './sdk.js'

export interface ProcessOptions {
  sdk: ClaudeSdk
  query: QueryOptions
  /** Where the agent's program keeps its conversations and plans. */
  configFolder: string | null
  /** How long a process waits for a person before it ends; `null` for ever. */
  parkAfterMs: number | null
  timeoutMs?: number | null
  clock: Clock
  newId: () => string
}

/** A session's agent: one conversation between turns, and another one for a fresh context. */
export class ClaudeProcess implements AgentProcess {
  readonly ended: Promise<Ending>
  readonly #context: AgentContext
  readonly #options: ProcessOptions
  readonly #turn: TurnLog
  readonly #grants = new Grants()
  readonly #stop = new AbortController()
  #conversation: Conversation | null = null
  #mode: SdkMode
  /** Requests of a cut turn that are not settled, or not told, yet. */
  #takingUp: AbortController | null = null
  #end: (ending: Ending) => void = () => {}

  constructor(context: AgentContext, options: ProcessOptions) {
    this.#context = context
    this.#options = options
    this.#mode = sdkMode(context.permissionMode)
    this.#turn = new TurnLog(context, options)
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
    if (context.resume) this.#takeUp(context.resume).catch((error: unknown) => this.#fail(error))
  }

  async send({ text, turnId }: { text: string; turnId: string }): Promise<void> {
    this.#turn.begin(turnId)
    this.#run().send(text)
  }

  async interrupt(): Promise<void> {
    if (!this.#turn.isOpen) return
    this.#takingUp?.abort()
    if (this.#conversation) await this.#conversation.interrupt()
    else await this.#endTurn('interrupted')
  }

  async setPermissionMode(mode: PermissionMode): Promise<void> {
    this.#mode = sdkMode(mode)
    await this.#conversation?.run.setMode(this.#mode)
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#conversation?.leave()
    this.#end({ how: 'stopped' })
  }

  #run(): ClaudeRun {
    return (this.#conversation ??= this.#converse(this.#context.agentSessionId)).run
  }

  #converse(resume: string | null): Conversation {
    const { sdk, query, clock } = this.#options
    const options = { ...query, permissionMode: this.#mode, ...(resume !== null && { resume }) }
    this.#turn.newConversation()
    return new Conversation(new ClaudeRun(sdk, options, this.#hooks()), {
      turn: this.#turn,
      clock,
      isResumed: resume !== null,
      endTurn: (reason, ...events) => this.#endTurn(reason, ...events),
      ended: (end) => this.#ended(end),
      failed: (error) => void this.#fail(error),
    })
  }

  #hooks(): ClaudeHooks {
    const { configFolder, timeoutMs, parkAfterMs, clock } = this.#options
    const { session, cwd } = this.#context
    const { calls } = this.#turn
    const isSole = (id: string) => calls.isSole(id) && this.#conversation?.isIdle === true
    return createClaudeHooks(
      session,
      {
        cwd,
        plansFolder: configFolder === null ? null : join(configFolder, 'plans'),
        signal: this.#stop.signal,
        clock,
        ...(timeoutMs !== undefined && { timeoutMs }),
      },
      {
        announce: (call) => calls.announce(call),
        planApproved: async ({ plan, freshContext }, call) =>
          freshContext ? this.#startAfresh(plan, call) : null,
        planMissing: (error) => this.#turn.planMissing(error),
        adapter: {
          grants: this.#grants,
          memoryFolder: configFolder === null ? null : join(configFolder, 'projects'),
          parking: parkAfterMs === null ? null : { afterMs: parkAfterMs, isSole },
        },
      },
    )
  }

  async #endTurn(reason: TurnReason, ...events: Reported[]): Promise<void> {
    // What a restart has cut is still to be told.
    if (reason === 'done' && this.#takingUp) return
    this.#grants.clear()
    await this.#turn.end(reason, ...events)
  }

  async #ended(end: ConversationEnd): Promise<void> {
    if (this.#stop.signal.aborted) return
    if (end.how === 'forgotten') return this.#startOver(end.mail)
    this.#end(end)
  }

  /** The program has lost the conversation, as it may if it is killed in the wrong moment: what it was sent is not. */
  async #startOver(mail: Mail): Promise<void> {
    const message = 'Claude has lost the earlier conversation, and starts a new one.'
    await this.#turn.report({ type: 'error', code: AGENT_LOST, message, fatal: false })
    this.#conversation = this.#converse(null)
    for (const [id, text] of mail) this.#conversation.run.send(text, id)
  }

  /** A fresh context that carries the plan. The review ends in the log once the new conversation has taken it up. */
  async #startAfresh(plan: string, call: Call): Promise<PermissionResult> {
    await this.#carryOut(plan, planApproved(call.toolUseID))
    return { behavior: 'deny', message: 'The plan is carried out elsewhere.' }
  }

  /** From here on the old context is never gone back to, whatever happens before the new one is there. */
  async #carryOut(plan: string, ...told: Reported[]): Promise<void> {
    const before = this.#conversation
    await this.#turn.forgetConversation()
    for (const event of told) if ('toolCallId' in event) this.#turn.calls.end(event)
    this.#mode = 'default'
    this.#conversation = this.#converse(null)
    this.#turn.onceTaken(this.#conversation.run.send(planMessage(plan)), told)
    await before?.leave()
  }

  /** A turn that was cut: waits for what is pending in it, then tells the model what came of it. */
  async #takeUp(resume: NonNullable<AgentContext['resume']>): Promise<void> {
    const { configFolder, clock } = this.#options
    this.#turn.begin(resume.turnId)
    this.#takingUp = new AbortController()
    const signal = AbortSignal.any([this.#takingUp.signal, this.#stop.signal])
    try {
      const taken = await takeUp(this.#context, resume, { configFolder, clock, signal })
      if (taken?.by === 'call') this.#takeUpCall(taken.interaction, resume.state)
      if (taken?.by === 'message') await this.#tell(taken.outcomes)
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      this.#takingUp = null
    }
  }

  /** The program asks once more about the call that it has put off, and finds the answer. */
  #takeUpCall({ toolName, toolCallId }: Interaction, state: SessionStateJson): void {
    const call = state.toolCalls.find((one) => one.toolCallId === toolCallId)
    if (call) this.#turn.calls.reported([{ type: 'tool_call', ...call }])
    // A plan is handed in from plan mode, whatever was decided since.
    if (toolName === 'ExitPlanMode') this.#mode = 'plan'
    this.#run()
  }

  async #tell(outcomes: Outcome[]): Promise<void> {
    const told: Reported[] = []
    for (const { interaction, told: output, isError, granted } of outcomes) {
      const { toolCallId } = interaction
      const ending = { type: 'tool_result', toolCallId, output, isError } as const
      if (!granted) told.push(ending)
      else {
        this.#grants.add(interaction)
        this.#turn.atEnd(ending)
      }
    }
    const { session } = await this.#context.session.snapshot()
    this.#mode = sdkMode(session.permissionMode)
    const plan = outcomes.find((outcome) => outcome.plan !== undefined)?.plan
    if (plan !== undefined) return this.#carryOut(plan, ...told)
    this.#turn.onceTaken(this.#run().send(resumeMessage(outcomes)), told)
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#stop.signal.aborted) return
    const message = error instanceof Error ? error.message : String(error)
    try {
      await this.#endTurn('error', { type: 'error', code: 'agent_error', message, fatal: false })
    } catch {
      // The log takes nothing any more, so that nobody can be told.
    }
    await this.#conversation?.leave()
    this.#end({ how: 'lost', message })
  }
}
