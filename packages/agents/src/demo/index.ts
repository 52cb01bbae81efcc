import {
  systemClock,
  type AgentAdapter,
  type AgentContext,
  type AgentProcess,
  type Clock,
  type Ending,
} from '@askback/core'
import { stepsFor, type Script, type Step } from './script.js'
import { tour } from './tour.js'
import { playTurn } from './turn.js'

export type { Script, Step } from './script.js'
export { tour } from './tour.js'

export interface DemoOptions {
  /** What it does; the tour by default. */
  script?: Script
  clock?: Clock
  /** Milliseconds between two pieces of streamed text; 0 streams at once. */
  pace?: number
}

/** A scripted agent that needs no model, no key and no network, in a browser as in Node. */
export function demoAgent({ script = tour, clock = systemClock, pace = 30 }: DemoOptions = {}): AgentAdapter {
  return {
    id: 'demo',
    name: 'Demo (scripted)',
    check: () => Promise.resolve({ available: true }),
    async start(context) {
      await context.report({
        type: 'agent_session',
        agentSessionId: context.agentSessionId ?? `demo-${context.sessionId}`,
      })
      return new DemoProcess(context, { script, clock, pace })
    },
  }
}

class DemoProcess implements AgentProcess {
  readonly ended: Promise<Ending>
  readonly #context: AgentContext
  readonly #options: Required<DemoOptions>
  #turn: { turnId: string; stop: AbortController; over: Promise<void> } | null = null
  #end: (ending: Ending) => void = () => {}

  constructor(context: AgentContext, options: Required<DemoOptions>) {
    this.#context = context
    this.#options = options
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
    if (context.resume) this.#resume(context.resume)
  }

  async send({ text, turnId }: { text: string; turnId: string }): Promise<void> {
    if (this.#turn?.turnId === turnId) return this.#note(text, turnId)
    // The last one has ended in the log already.
    await this.#turn?.over
    this.#begin(stepsFor(this.#options.script, text), turnId, null)
  }

  async interrupt(): Promise<void> {
    const turn = this.#turn
    if (!turn) return
    turn.stop.abort(new Interrupted())
    await turn.over
  }

  async setPermissionMode(): Promise<void> {
    // Each approval goes through the desk, which knows the mode.
  }

  async stop(): Promise<void> {
    const turn = this.#turn
    turn?.stop.abort(new Stopped())
    await turn?.over
    this.#end({ how: 'stopped' })
  }

  #resume({ turnId, state }: NonNullable<AgentContext['resume']>): void {
    const items = state.turns.find((turn) => turn.turnId === turnId)?.items ?? []
    const said = items.find((item) => item.type === 'user_message')
    if (said) this.#begin(stepsFor(this.#options.script, said.text), turnId, state)
  }

  #begin(steps: Step[], turnId: string, done: NonNullable<AgentContext['resume']>['state'] | null): void {
    const stop = new AbortController()
    const { clock, pace } = this.#options
    const options = { context: this.#context, turnId, clock, pace, signal: stop.signal, done }
    const over = playTurn(steps, options)
      .then(
        () => this.#context.report({ type: 'turn_ended', turnId, reason: 'done' }),
        (error: unknown) => this.#broken(error, turnId),
      )
      .finally(() => {
        this.#turn = null
      })
    this.#turn = { turnId, stop, over }
  }

  async #broken(error: unknown, turnId: string): Promise<void> {
    if (error instanceof Stopped) return
    if (error instanceof Interrupted)
      return this.#context.report({ type: 'turn_ended', turnId, reason: 'interrupted' })
    const message = error instanceof Error ? error.message : String(error)
    await this.#context.report(
      { type: 'error', code: 'agent_error', message, fatal: false },
      { type: 'turn_ended', turnId, reason: 'error' },
    )
  }

  #note(text: string, turnId: string): Promise<void> {
    const blockId = `${turnId}.note.${this.#options.clock.now()}`
    return this.#context.report({
      type: 'text',
      blockId,
      text: `Noted while I work: “${text}”`,
      turnId,
      responseId: turnId,
    })
  }
}

class Interrupted extends Error {}
class Stopped extends Error {}
