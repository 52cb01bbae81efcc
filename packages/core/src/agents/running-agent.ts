import { AskbackError } from '@askback/protocol'
import type { AgentProcess } from './agent.js'

/** Nobody wants it any more; who ended it tells the rest. */
export class StartAbandoned extends AskbackError {
  constructor() {
    super('unavailable', 'The agent was stopped before it had started.')
  }
}

/** An agent that runs, or is about to. Its program may hang while it starts, so that nobody but its messages waits for that. */
export class RunningAgent {
  readonly started: Promise<AgentProcess>
  /** Resolves when it is told to end: what waits for it to do something waits for nothing any more. */
  readonly dismissed: Promise<void>
  #dismiss: () => void = () => undefined
  readonly #giveUp = new AbortController()
  #agent: AgentProcess | null = null
  #isStarted = false

  /** `greet` tells it what has changed since `start` began. */
  constructor(
    start: (signal: AbortSignal) => Promise<AgentProcess>,
    greet: (agent: AgentProcess) => Promise<void> = async () => {},
  ) {
    this.dismissed = new Promise((resolve) => (this.#dismiss = resolve))
    this.started = this.#start(start, greet)
  }

  /** From when it is told of changes. */
  get agent(): AgentProcess | null {
    return this.#agent
  }

  get isStarted(): boolean {
    return this.#isStarted
  }

  async end(): Promise<void> {
    this.#dismiss()
    if (!this.#isStarted) this.#giveUp.abort()
    // That it never started was told to whoever sent the message.
    const agent = await this.started.catch(() => null)
    await agent?.stop()
  }

  async #start(
    start: (signal: AbortSignal) => Promise<AgentProcess>,
    greet: (agent: AgentProcess) => Promise<void>,
  ): Promise<AgentProcess> {
    const { signal } = this.#giveUp
    try {
      const agent = (this.#agent = await start(signal))
      await greet(agent)
      if (signal.aborted) throw new StartAbandoned()
      this.#isStarted = true
      return agent
    } catch (error) {
      await this.#agent?.stop()
      throw signal.aborted ? new StartAbandoned() : error
    }
  }
}
