import { join } from 'node:path'
import type { AgentContext, AgentProcess, Clock, Ending, Reported } from '@askback/core'
import type { Interaction, PermissionMode, SessionStateJson } from '@askback/protocol'
import { pause } from './asking.js'
import { Calls } from './calls.js'
import { Grants } from './grants.js'
import { createClaudeHooks, type Call } from './hooks.js'
import { planPrompt } from './plan-review.js'
import { MessageReader } from './reader.js'
import { openRequests, outcomeOf, resumeMessage, type Outcome } from './resume.js'
import { ClaudeRun, sdkMode } from './run.js'
import { isDeferred } from './transcript.js'
import type {
  AssistantMessage,
  ClaudeSdk,
  KnownMessage,
  PermissionResult,
  QueryOptions,
  ResultMessage,
  SdkMode,
  UserMessage,
} from './sdk.js'

const INTERRUPT_MS = 5000
const GONE = 'No conversation found'

interface Usage {
  costUsd: number
  inputTokens: number
  outputTokens: number
}

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
  /** The agent does not know its own session any more: the next process starts a fresh one. */
  forgotten(agentSessionId: string): void
}

/** A session's agent: one process of its program between turns, another one for a fresh context. */
export class ClaudeProcess implements AgentProcess {
  readonly ended: Promise<Ending>
  readonly #context: AgentContext
  readonly #options: ProcessOptions
  readonly #calls: Calls
  readonly #grants = new Grants()
  readonly #stop = new AbortController()
  #reader = new MessageReader()
  #run: ClaudeRun | null = null
  #mode: SdkMode
  #turn: string | null = null
  /** Requests of a cut turn that are not settled, or not told, yet. */
  #takingUp: AbortController | null = null
  #atInit: Reported[] = []
  #atTurnEnd: Reported[] = []
  #interrupted: (() => void) | null = null
  /** What the turn took so far: one turn may have several results. */
  #usage: Usage = { costUsd: 0, inputTokens: 0, outputTokens: 0 }
  /** The program counts its cost from its own start. */
  #costBefore = 0
  #isParked = false
  #end: (ending: Ending) => void = () => {}

  constructor(context: AgentContext, options: ProcessOptions) {
    this.#context = context
    this.#options = options
    this.#mode = sdkMode(context.permissionMode)
    this.#calls = new Calls(options.clock, (event) => this.#report(event))
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
    if (context.resume) this.#takeUp(context.resume).catch((error: unknown) => this.#fail(error))
  }

  async send({ text, turnId }: { text: string; turnId: string }): Promise<void> {
    this.#turn = turnId
    this.#running().send(text)
  }

  /** Interrupts before anything else: an answer to the agent's call would make it ask its model once more. */
  async interrupt(): Promise<void> {
    if (this.#turn === null) return
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
    if (this.#turn !== null) await run.kill()
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
        announce: (call) => this.#calls.announce(call),
        startAfresh: (plan, call) => this.#startAfresh(plan, call),
        planMissing: ({ message }) =>
          this.#report({ type: 'error', code: 'plan_missing', message, fatal: false }),
        grants: this.#grants,
        parking:
          parkAfterMs === null
            ? null
            : { afterMs: parkAfterMs, isSole: (id) => this.#calls.isSole(id) && !this.#run?.hasMail },
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
    if (resumed !== null && why.includes(GONE)) this.#options.forgotten(resumed)
    if (this.#interrupted) await this.#endTurn('interrupted')
    if (this.#isParked) this.#end({ how: 'parked' })
    else this.#end({ how: 'lost', message: why === '' ? 'Claude Code ended.' : `Claude Code ended: ${why}` })
  }

  async #handle(run: ClaudeRun, message: KnownMessage): Promise<void> {
    switch (message.type) {
      case 'system':
        if (message.subtype === 'init' && message.session_id !== undefined)
          await this.#initialised(message.session_id)
        return
      case 'stream_event': {
        const delta = this.#reader.delta(message)
        if (delta) this.#context.live(delta)
        return
      }
      case 'assistant':
        return this.#said(message)
      case 'user':
        return this.#heard(run, message)
      case 'result':
        return this.#result(run, message)
    }
  }

  async #initialised(agentSessionId: string): Promise<void> {
    const events = this.#atInit
    this.#atInit = []
    await this.#report({ type: 'agent_session', agentSessionId }, ...events)
  }

  async #said(message: AssistantMessage): Promise<void> {
    // What the program says in the model's name about an error comes again as the result.
    if (message.error !== undefined) return
    // It may begin by itself, when something that it left in the background is done.
    if (this.#turn === null) {
      this.#turn = this.#options.newId()
      await this.#context.report({ type: 'turn_started', turnId: this.#turn })
    }
    const events = this.#reader.blocks(message)
    if (events.length > 0) await this.#report(...events)
    this.#calls.reported(events)
  }

  async #heard(run: ClaudeRun, message: UserMessage): Promise<void> {
    if (message.uuid !== undefined) run.taken(message.uuid)
    const results = this.#reader.results(message).filter((event) => this.#calls.end(event))
    if (results.length > 0) await this.#report(...results)
  }

  async #result(run: ClaudeRun, result: ResultMessage): Promise<void> {
    if (result.stop_reason === 'tool_deferred') {
      this.#isParked = true
      return run.finish()
    }
    this.#count(result)
    if (this.#interrupted) return this.#endTurn('interrupted')
    if (result.is_error || result.subtype !== 'success') {
      const why = result.errors?.join(' ') || result.result || result.subtype
      return this.#endTurn('error', { type: 'error', code: 'agent_error', message: why, fatal: false })
    }
    if (!run.hasMail && !this.#takingUp) await this.#endTurn('done')
  }

  #count({ total_cost_usd: cost, usage }: ResultMessage): void {
    this.#usage.costUsd += cost - this.#costBefore
    this.#usage.inputTokens += usage.input_tokens
    this.#usage.outputTokens += usage.output_tokens
    this.#costBefore = cost
  }

  async #endTurn(reason: 'done' | 'error' | 'interrupted', ...events: Reported[]): Promise<void> {
    const turnId = this.#turn
    const left = this.#atTurnEnd
    const interrupted = this.#interrupted
    const usage = this.#usage
    this.#usage = { costUsd: 0, inputTokens: 0, outputTokens: 0 }
    this.#turn = null
    this.#atTurnEnd = []
    this.#interrupted = null
    this.#grants.clear()
    if (turnId !== null)
      await this.#context.report(...[...left, ...events].map((event) => ({ ...event, turnId })), {
        type: 'turn_ended',
        ...(usage.inputTokens > 0 && { usage }),
        turnId,
        reason,
      })
    interrupted?.()
  }

  /** A fresh context that carries the plan. The review ends in the log once the new conversation is known there. */
  async #startAfresh(plan: string, call: Call): Promise<PermissionResult> {
    const before = this.#run
    this.#atInit.push(approvedPlan(call.toolUseID))
    this.#calls.end({ toolCallId: call.toolUseID })
    this.#mode = 'default'
    this.#reader = new MessageReader()
    this.#costBefore = 0
    this.#run = this.#start(null)
    this.#run.send(planPrompt(plan))
    await before?.kill()
    return { behavior: 'deny', message: 'The plan is carried out elsewhere.' }
  }

  /** A turn that was cut: waits for what is pending in it, then tells the model what came of it. */
  async #takeUp({ turnId, state }: NonNullable<AgentContext['resume']>): Promise<void> {
    this.#turn = turnId
    const open = openRequests(state, turnId)
    const [first] = open
    if (!first) return
    if (open.length === 1 && (await this.#isParkedAt(first))) return this.#unpark(first, state)
    this.#takingUp = new AbortController()
    const signal = AbortSignal.any([this.#takingUp.signal, this.#stop.signal])
    try {
      const outcomes = await Promise.all(open.map((item) => outcomeOf(this.#context.session, item, signal)))
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
    if (call) this.#calls.reported([{ type: 'tool_call', ...call }])
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
      ;(granted ? this.#atTurnEnd : this.#atInit).push(ending)
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
    await this.#endTurn('error', { type: 'error', code: 'agent_error', message, fatal: false })
  }

  async #report(...events: Reported[]): Promise<void> {
    const turnId = this.#turn
    await this.#context.report(...events.map((event) => (turnId === null ? event : { turnId, ...event })))
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
