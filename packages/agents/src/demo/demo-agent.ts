import {
  jumpAwareClock,
  type AgentAdapter,
  type AgentContext,
  type AgentProcess,
  type Clock,
  type AgentEnd,
} from '@askback/core'
import { errorMessage } from '@askback/protocol'
import { playTurn } from './play-turn.js'
import { stepsFor, type Script, type Step } from './script.js'
import { tour } from './tour.js'

/** Options of `demoAgent`. */
export interface DemoOptions {
  /**
   * What the agent does.
   * @default the tour
   */
  script?: Script
  /** @default the system's clock */
  clock?: Clock
  /**
   * The pause between two parts of streamed text, in milliseconds; 0 streams without pauses.
   * @default 30
   */
  paceMs?: number
}

/**
 * A scripted agent that needs no model, no key and no network. It runs in Node and in a browser.
 *
 * @example
 * const host = createHost({ desk, agents: [demoAgent({ paceMs: 0 })] })
 */
export function demoAgent({
  script = tour,
  clock = jumpAwareClock,
  paceMs = 30,
}: DemoOptions = {}): AgentAdapter {
  return {
    id: 'demo',
    name: 'Demo (scripted)',
    check: () => Promise.resolve({ available: true }),
    async start(context) {
      await context.report({
        type: 'agent_session',
        agentSessionId: context.agentSessionId ?? `demo-${context.sessionId}`,
      })
      return new DemoProcess(context, { script, clock, paceMs })
    },
  }
}

class DemoProcess implements AgentProcess {
  readonly ended: Promise<AgentEnd>
  readonly #context: AgentContext
  readonly #options: Required<DemoOptions>
  #turn: { turnId: string; stop: AbortController; ended: Promise<void> } | null = null
  #resolveEnded: (ending: AgentEnd) => void = () => {}

  constructor(context: AgentContext, options: Required<DemoOptions>) {
    this.#context = context
    this.#options = options
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve
    })
    if (context.resume) this.#resume(context.resume)
  }

  async send({ text, turnId }: { text: string; turnId: string }): Promise<void> {
    if (this.#turn?.turnId === turnId) return this.#acknowledge(text, turnId)
    // The log has the end of the turn before, but its promise may not have resolved yet.
    await this.#turn?.ended
    this.#play(stepsFor(this.#options.script, text), turnId, null)
  }

  async interrupt(): Promise<void> {
    const turn = this.#turn
    if (!turn) return
    turn.stop.abort(new Interrupted())
    await turn.ended
  }

  async setPermissionMode(): Promise<void> {
    // Each approval goes through the desk, which applies the mode.
  }

  async stop(): Promise<void> {
    const turn = this.#turn
    turn?.stop.abort(new Stopped())
    await turn?.ended
    this.#resolveEnded({ how: 'stopped' })
  }

  #resume({ turnId, state }: NonNullable<AgentContext['resume']>): void {
    const items = state.turns.find((turn) => turn.turnId === turnId)?.items ?? []
    const message = items.find((item) => item.type === 'user_message')
    if (message) this.#play(stepsFor(this.#options.script, message.text), turnId, state)
  }

  /** `earlier`: the state of the session when the turn was interrupted; `null` for a new turn. */
  #play(steps: Step[], turnId: string, earlier: NonNullable<AgentContext['resume']>['state'] | null): void {
    const stop = new AbortController()
    const { clock, paceMs } = this.#options
    const options = { context: this.#context, turnId, clock, paceMs, signal: stop.signal, earlier }
    const ended = playTurn(steps, options)
      .then(
        () => this.#context.report({ type: 'turn_ended', turnId, reason: 'done' }),
        (error: unknown) => this.#turnFailed(error, turnId),
      )
      .finally(() => {
        this.#turn = null
      })
    this.#turn = { turnId, stop, ended }
  }

  async #turnFailed(error: unknown, turnId: string): Promise<void> {
    if (error instanceof Stopped) return
    if (error instanceof Interrupted)
      return this.#context.report({ type: 'turn_ended', turnId, reason: 'interrupted' })
    const message = errorMessage(error)
    await this.#context.report(
      { type: 'error', code: 'agent_error', message, fatal: false },
      { type: 'turn_ended', turnId, reason: 'error' },
    )
  }

  /** A message during a turn changes nothing: the script continues. */
  #acknowledge(text: string, turnId: string): Promise<void> {
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
