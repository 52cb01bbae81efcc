import type { AgentContext, EditScope, Ending, Reported } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import type { Running } from '../program/child.js'
import { Peer, type Channel, type Params } from '../program/peer.js'
import { editScopeOf } from './edit-target.js'
import { Grants } from './grants.js'
import { resumeMessage, type Outcome } from './outcome.js'
import { planMessage } from './plan.js'
import { outcomesOf } from './take-up.js'
import { Turn } from './turn.js'

export type TurnReason = 'done' | 'error' | 'interrupted'

type Resume = NonNullable<AgentContext['resume']>

/** What agents have in common that speak in messages: how they end, and how a turn that was cut goes on. */
export abstract class PeerAgent {
  readonly ended: Promise<Ending>
  protected readonly context: AgentContext
  protected readonly editScope: () => Promise<EditScope>
  protected readonly program: Running
  protected readonly peer: Peer
  protected readonly turn: Turn
  protected readonly grants = new Grants()
  protected interrupting = new AbortController()
  readonly #name: string
  readonly #stop = new AbortController()
  readonly #over = new AbortController()
  #end: (ending: Ending) => void = () => {}

  constructor(
    context: AgentContext,
    program: Running,
    { name, channel, stamp }: { name: string; channel: Channel; stamp?: { jsonrpc: '2.0' } },
  ) {
    this.context = context
    this.editScope = editScopeOf(context.session, context)
    this.program = program
    this.turn = new Turn(context)
    this.#name = name
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
    const handlers = {
      request: (method: string, params: Params) => this.#asked(method, params),
      notification: async (method: string, params: Params) => {
        if (!this.isStopped) await this.heard(method, params)
      },
      failed: (error: unknown) => void this.fail(error),
    }
    this.peer = new Peer(channel, handlers, stamp)
    program.gone.then(() => this.#gone()).catch(() => {})
  }

  protected abstract asked(method: string, params: Params): Promise<unknown>
  protected abstract heard(method: string, params: Params): Promise<void>
  protected abstract endTurn(reason: TurnReason, ...events: Reported[]): Promise<void>
  /** Tells the agent how to go on, in a context that knows nothing else if it is to be fresh. */
  protected abstract goOn(message: string, isFresh: boolean): Promise<void>
  /** Its program has ended, and nobody has stopped it. */
  protected abstract lost(): Promise<void>

  async stop(): Promise<void> {
    this.#stop.abort()
    this.peer.close('The session was stopped.')
    await this.program.kill()
    this.#end({ how: 'stopped' })
  }

  protected get isStopped(): boolean {
    return this.#stop.signal.aborted
  }

  /** Aborts when the turn is interrupted, or the agent stopped or lost: an answer is not for who cannot hear it (L10). */
  protected get signal(): AbortSignal {
    return AbortSignal.any([this.#stop.signal, this.#over.signal, this.interrupting.signal])
  }

  /** Says hello, and takes up the turn that was cut. Stops where nobody wants that any more. */
  protected async start(hello: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const { resume } = this.context
    const stop = () => void this.stop()
    signal.addEventListener('abort', stop)
    try {
      signal.throwIfAborted()
      await hello()
    } catch (error) {
      await this.stop()
      throw new AskbackError('unavailable', messageOf(error), { cause: error })
    } finally {
      signal.removeEventListener('abort', stop)
    }
    if (resume) this.#takeUp(resume).catch((error: unknown) => this.fail(error))
  }

  protected async fail(error: unknown): Promise<void> {
    if (this.isStopped) return
    const message = messageOf(error)
    try {
      await this.endTurn('error', problem(message))
    } catch {
      // The log takes nothing any more, so that nobody can be told.
    }
    await this.program.kill()
    this.#end({ how: 'lost', message })
  }

  async #asked(method: string, params: Params): Promise<unknown> {
    try {
      return await this.asked(method, params)
    } catch (error) {
      // Its process is being ended: any answer would make it talk to its model once more.
      if (this.isStopped) return new Promise(() => {})
      throw error
    }
  }

  async #gone(): Promise<void> {
    this.#over.abort()
    await this.peer.settled
    const message = `${this.#name}${this.program.ending}`
    this.peer.close(message)
    if (this.isStopped) return
    await this.lost()
    this.#end({ how: 'lost', message })
  }

  /** Waits for what is pending in the turn, then tells the model what came of it. */
  async #takeUp(resume: Resume): Promise<void> {
    const { signal } = this
    const outcomes = await outcomesOf(this.context, resume, signal).catch((error: unknown) => {
      if (signal.aborted) return []
      throw error
    })
    if (outcomes.length > 0 && !signal.aborted) await this.#tell(outcomes)
  }

  async #tell(outcomes: Outcome[]): Promise<void> {
    const plan = outcomes.find((outcome) => outcome.plan !== undefined)?.plan
    for (const { granted, interaction } of outcomes) if (granted) this.grants.add(interaction)
    await this.goOn(plan === undefined ? resumeMessage(outcomes) : planMessage(plan), plan !== undefined)
    for (const { granted, interaction, told, isError } of outcomes) {
      const { toolCallId } = interaction
      const result = { type: 'tool_result', toolCallId, output: told, isError } as const
      if (granted) this.turn.atEnd(result)
      else await this.turn.report(result)
    }
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** An error of the agent's own, which ends its turn. */
export function problem(message: string): Reported {
  return { type: 'error', code: 'agent_error', message, fatal: false }
}
