/**
 * The part of an agent's process that is the same for all adapters: how it stops, how it fails, how its turn ends, and how it
 * continues an interrupted turn. An adapter supplies what differs: how its program is ended, and how its model gets a message.
 *
 *     running ── stop ──▶ ended as `stopped`
 *        ├────── fail ──▶ turn ends with an error ──▶ ended as `lost`
 *        └────── the program ends by itself ──▶ ended as `lost` or `parked`
 */
import type { AgentContext, Clock, AgentEnd, ReportedEvent } from '@askback/core'
import { errorMessage } from '@askback/protocol'
import { Grants } from './approval.js'
import { planMessage } from './model-messages.js'
import { awaitOutcomes, resumeMessage, type InterruptedTurn, type RequestOutcome } from './resume.js'
import { agentError, type TurnEndReason, type TurnLog } from './turn-log.js'

export interface ContinueOptions {
  /** Whether the message goes to a context that knows nothing else: the message is a plan. */
  isFreshContext: boolean
  /** Results of the interrupted tool calls. They are reported once the agent has the message. */
  results: ReportedEvent[]
}

export abstract class BaseAgentProcess<Log extends TurnLog = TurnLog> {
  readonly ended: Promise<AgentEnd>
  protected readonly context: AgentContext
  protected readonly turnLog: Log
  protected readonly clock: Clock
  protected readonly grants = new Grants()
  readonly #stop = new AbortController()
  #resuming: AbortController | null = null
  #resolveEnded: (ending: AgentEnd) => void = () => {}

  constructor(context: AgentContext, { turnLog, clock }: { turnLog: Log; clock: Clock }) {
    this.context = context
    this.turnLog = turnLog
    this.clock = clock
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve
    })
  }

  /** Ends the agent's program, if it runs. */
  protected abstract killProgram(): Promise<void>
  /** Sends the agent the message with which it continues an interrupted turn. */
  protected abstract continueTurn(message: string, options: ContinueOptions): Promise<void>

  /** What is pending stays pending. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.killProgram()
    this.setEnded({ how: 'stopped' })
  }

  protected get isStopped(): boolean {
    return this.#stop.signal.aborted
  }

  protected get stopSignal(): AbortSignal {
    return this.#stop.signal
  }

  protected setEnded(ending: AgentEnd): void {
    this.#resolveEnded(ending)
  }

  protected async endTurn(reason: TurnEndReason, ...events: ReportedEvent[]): Promise<void> {
    // The outcomes of the interrupted requests continue this turn. Until the agent has them, it is not done.
    if (reason === 'done' && this.#resuming) return
    this.grants.clear()
    await this.turnLog.end(reason, ...events)
  }

  /** An error that the agent cannot recover from: ends its turn and its program. */
  protected async fail(error: unknown): Promise<void> {
    if (this.isStopped) return
    const message = errorMessage(error)
    try {
      await this.endTurn('error', agentError(message))
    } catch {
      // The log accepts nothing any more. The runner repeats the end of the turn when it learns that the agent is lost.
    }
    await this.killProgram()
    this.setEnded({ how: 'lost', message })
  }

  /** Continues the turn that an earlier process of this agent was interrupted in, if there is one. */
  protected resumeTurn(): void {
    const { resume } = this.context
    if (!resume) return
    this.turnLog.begin(resume.turnId)
    this.#resuming = new AbortController()
    const signal = AbortSignal.any([this.#resuming.signal, this.#stop.signal])
    this.#resume(resume, signal).catch((error: unknown) => this.fail(error))
  }

  /** Must be called on an interrupt: then the model gets no outcomes. */
  protected cancelResume(): void {
    this.#resuming?.abort()
  }

  /** Overridden where a program can continue with the interrupted call itself. `true` if it does. */
  protected async resumeCall(_turn: InterruptedTurn): Promise<boolean> {
    return false
  }

  async #resume(turn: InterruptedTurn, signal: AbortSignal): Promise<void> {
    const { clock } = this
    try {
      if (await this.resumeCall(turn)) return
      const outcomes = await awaitOutcomes(this.context.session, turn, { clock, signal })
      if (outcomes.length > 0) await this.#continueWith(outcomes)
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      this.#resuming = null
    }
  }

  async #continueWith(outcomes: RequestOutcome[]): Promise<void> {
    const results: ReportedEvent[] = []
    for (const { interaction, message: output, isError, grant } of outcomes) {
      const { toolCallId } = interaction
      const result = { type: 'tool_result', toolCallId, output, isError } as const
      if (!grant) results.push(result)
      else {
        this.grants.add(grant)
        // Until then the approval can be claimed at this call.
        this.turnLog.reportAtEnd(result)
      }
    }
    const plan = outcomes.find(({ freshPlan }) => freshPlan !== undefined)?.freshPlan
    const message = plan === undefined ? resumeMessage(outcomes) : planMessage(plan)
    await this.continueTurn(message, { isFreshContext: plan !== undefined, results })
  }
}
