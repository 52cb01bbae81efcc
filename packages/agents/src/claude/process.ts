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
import { pause } from './asking.js'
import { Grants } from './grants.js'
import { createClaudeHooks, type Call } from './hooks.js'
import { planPrompt } from './plan-review.js'
import { openRequests, outcomeOf, resumeMessage, type Outcome } from './resume.js'
import { ClaudeRun, sdkMode } from './run.js'
import { isDeferred } from './transcript.js'
import { TurnLog } from './turn-log.js'
import type {
  ClaudeSdk,
  KnownMessage,
  PermissionResult,
  QueryOptions,
  ResultMessage,
  SdkMode,
} from './sdk.js'

const INTERRUPT_MS = 5000
const FORGOTTEN = 'No conversation found'

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

/** A session's agent: one process of its program between turns, another one for a fresh context. */
export class ClaudeProcess implements AgentProcess {
  readonly ended: Promise<Ending>
  readonly #context: AgentContext
  readonly #options: ProcessOptions
  readonly #turn: TurnLog
  readonly #grants = new Grants()
  readonly #stop = new AbortController()
  #run: ClaudeRun | null = null
  #mode: SdkMode
  /** Requests of a cut turn that are not settled, or not told, yet. */
  #takingUp: AbortController | null = null
  #interrupted: (() => void) | null = null
  #isParked = false
  #hasForgotten = false
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
    this.#running().send(text)
  }

  /** Interrupts before anything else: an answer to the agent's call would make it ask its model once more. */
  async interrupt(): Promise<void> {
    if (!this.#turn.isOpen) return
    this.#takingUp?.abort()
    const run = this.#run
    if (!run) return this.#endTurn('interrupted')
    const over = new Promise<void>((resolve) => {
      this.#interrupted = resolve
    })
    const timeout = new AbortController()
    const late = pause(this.#options.clock, INTERRUPT_MS, timeout.signal)
    await Promise.race([run.interrupt().catch(() => {}), late])
    await Promise.race([over, late])
    timeout.abort()
    if (this.#turn.isOpen) await run.kill()
  }

  async setPermissionMode(mode: PermissionMode): Promise<void> {
    this.#mode = sdkMode(mode)
    await this.#run?.setMode(this.#mode)
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#run?.kill()
    this.#end({ how: 'stopped' })
  }

  #running(): ClaudeRun {
    return (this.#run ??= this.#start(this.#context.agentSessionId))
  }

  #start(resume: string | null): ClaudeRun {
    const { sdk, query, configFolder, timeoutMs, parkAfterMs, clock } = this.#options
    const plansFolder = configFolder === null ? null : join(configFolder, 'plans')
    const hooks = createClaudeHooks(
      this.#context.session,
      {
        cwd: this.#context.cwd,
        plansFolder,
        signal: this.#stop.signal,
        clock,
        ...(timeoutMs !== undefined && { timeoutMs }),
      },
      {
        announce: (call) => this.#turn.calls.announce(call),
        startAfresh: (plan, call) => this.#startAfresh(plan, call),
        planMissing: ({ message }) =>
          this.#turn.report({ type: 'error', code: 'plan_missing', message, fatal: false }),
        grants: this.#grants,
        parking:
          parkAfterMs === null
            ? null
            : { afterMs: parkAfterMs, isSole: (id) => this.#turn.calls.isSole(id) && !this.#run?.hasMail },
      },
    )
    const options = { ...query, permissionMode: this.#mode, ...(resume !== null && { resume }) }
    const run = new ClaudeRun(sdk, options, hooks)
    this.#pump(run, resume).catch((error: unknown) => this.#fail(error))
    return run
  }

  async #pump(run: ClaudeRun, resumed: string | null): Promise<void> {
    let failure: unknown = null
    try {
      for await (const message of run.query) {
        if (run === this.#run && !this.#stop.signal.aborted) await this.#handle(run, message as KnownMessage)
      }
    } catch (error) {
      failure = error
    }
    await run.kill()
    if (run !== this.#run || this.#stop.signal.aborted) return
    const why = [failure instanceof Error ? failure.message : '', run.complaint].filter(Boolean).join(' ')
    if (resumed !== null && this.#isForgotten(why)) return this.#startOver(run.mail)
    if (this.#interrupted) await this.#endTurn('interrupted')
    if (this.#isParked) this.#end({ how: 'parked' })
    else this.#end({ how: 'lost', message: why === '' ? 'Claude Code ended.' : `Claude Code ended: ${why}` })
  }

  async #handle(run: ClaudeRun, message: KnownMessage): Promise<void> {
    switch (message.type) {
      case 'system':
        return this.#turn.init(message)
      case 'stream_event':
        return this.#turn.stream(message)
      case 'assistant':
        return this.#turn.said(message)
      case 'user':
        if (message.uuid !== undefined) run.taken(message.uuid)
        return this.#turn.heard(message)
      case 'result':
        return this.#result(run, message)
    }
  }

  async #result(run: ClaudeRun, result: ResultMessage): Promise<void> {
    if (result.stop_reason === 'tool_deferred') {
      this.#isParked = true
      return run.finish()
    }
    this.#turn.count(result)
    if (this.#interrupted) return this.#endTurn('interrupted')
    // The program ends now, and is started over.
    if (this.#isForgotten(result.errors?.join(' ') ?? '')) return
    if (result.is_error || result.subtype !== 'success') {
      const why = result.errors?.join(' ') || result.result || result.subtype
      return this.#endTurn('error', { type: 'error', code: 'agent_error', message: why, fatal: false })
    }
    if (!run.hasMail && !this.#takingUp) await this.#endTurn('done')
  }

  async #endTurn(reason: 'done' | 'error' | 'interrupted', ...events: Reported[]): Promise<void> {
    const interrupted = this.#interrupted
    this.#interrupted = null
    this.#grants.clear()
    await this.#turn.end(reason, ...events)
    interrupted?.()
  }

  #isForgotten(why: string): boolean {
    this.#hasForgotten ||= why.includes(FORGOTTEN)
    return this.#hasForgotten
  }

  /** The program has lost the conversation, as it may if it is killed in the wrong moment: what it was sent is not. */
  async #startOver(mail: string[]): Promise<void> {
    const message = 'Claude has lost the earlier conversation, and starts a new one.'
    await this.#turn.report({ type: 'error', code: AGENT_LOST, message, fatal: false })
    this.#hasForgotten = false
    this.#turn.newConversation()
    const run = this.#start(null)
    this.#run = run
    for (const text of mail) run.send(text)
  }

  /** A fresh context that carries the plan. The review ends in the log once the new conversation is known there. */
  async #startAfresh(plan: string, call: Call): Promise<PermissionResult> {
    const before = this.#run
    this.#turn.atInit(approvedPlan(call.toolUseID))
    this.#turn.calls.end({ toolCallId: call.toolUseID })
    this.#mode = 'default'
    this.#turn.newConversation()
    this.#run = this.#start(null)
    this.#run.send(planPrompt(plan))
    await before?.kill()
    return { behavior: 'deny', message: 'The plan is carried out elsewhere.' }
  }

  /** A turn that was cut: waits for what is pending in it, then tells the model what came of it. */
  async #takeUp({ turnId, state }: NonNullable<AgentContext['resume']>): Promise<void> {
    this.#turn.begin(turnId)
    const open = openRequests(state, turnId)
    const [first] = open
    if (!first) return
    if (open.length === 1 && (await this.#isParkedAt(first))) return this.#unpark(first, state)
    this.#takingUp = new AbortController()
    const signal = AbortSignal.any([this.#takingUp.signal, this.#stop.signal])
    try {
      const outcomes = await Promise.all(open.map((item) => outcomeOf(this.#context.session, item, signal)))
      signal.throwIfAborted()
      await this.#tell(outcomes)
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      this.#takingUp = null
    }
  }

  #isParkedAt({ toolCallId }: Interaction): Promise<boolean> {
    return isDeferred(this.#options.configFolder, this.#context.agentSessionId, toolCallId)
  }

  /** The program asks once more about the call that it has put off, and finds the answer. */
  #unpark({ toolName, toolCallId }: Interaction, state: SessionStateJson): void {
    const call = state.toolCalls.find((one) => one.toolCallId === toolCallId)
    if (call) this.#turn.calls.reported([{ type: 'tool_call', ...call }])
    // A plan is handed in from plan mode, whatever was decided since.
    if (toolName === 'ExitPlanMode') this.#mode = 'plan'
    this.#running()
  }

  async #tell(outcomes: Outcome[]): Promise<void> {
    for (const outcome of outcomes) {
      const { interaction, told, isError, granted } = outcome
      if (granted) this.#grants.add(interaction)
      const ending = {
        type: 'tool_result',
        toolCallId: interaction.toolCallId,
        output: told,
        isError,
      } as const
      if (granted) this.#turn.atEnd(ending)
      else this.#turn.atInit(ending)
    }
    const { session } = await this.#context.session.snapshot()
    this.#mode = sdkMode(session.permissionMode)
    const plan = outcomes.find((outcome) => outcome.plan !== undefined)?.plan
    if (plan !== undefined) {
      this.#run ??= this.#start(null)
      return this.#run.send(planPrompt(plan))
    }
    this.#running().send(resumeMessage(outcomes))
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#stop.signal.aborted) return
    const message = error instanceof Error ? error.message : String(error)
    try {
      await this.#endTurn('error', { type: 'error', code: 'agent_error', message, fatal: false })
    } catch {
      // The log takes nothing any more, so that nobody can be told.
    }
    await this.#run?.kill()
    this.#end({ how: 'lost', message })
  }
}

function approvedPlan(toolCallId: string): Reported {
  return {
    type: 'tool_result',
    toolCallId,
    output: 'Approved. It goes on in a fresh context.',
    isError: false,
  }
}
