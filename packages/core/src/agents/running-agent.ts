import { AskbackError } from '@askback/protocol'
import type { AgentProcess } from './agent.js'

/** The agent was ended before it had started. The caller that ended it reports that. */
export class StartAbandoned extends AskbackError {
  constructor() {
    super('unavailable', 'The agent was stopped before it had started.')
  }
}

/** An agent that runs or is starting. Its program may hang during the start, so only its messages wait for that. */
export class RunningAgent {
  readonly started: Promise<AgentProcess>
  /** Resolves when it is asked to end, so that nothing waits for it any longer. */
  readonly dismissed: Promise<void>
  #dismiss: () => void = () => undefined
  readonly #giveUp = new AbortController()
  #agent: AgentProcess | null = null
  #isStarted = false

  /** `greet` sends it what has changed since `start` began. */
  constructor(
    start: (signal: AbortSignal) => Promise<AgentProcess>,
    greet: (agent: AgentProcess) => Promise<void> = async () => {},
  ) {
    this.dismissed = new Promise((resolve) => (this.#dismiss = resolve))
    this.started = this.#start(start, greet)
  }

  /** Whether changes are sent to it. */
  get agent(): AgentProcess | null {
    return this.#agent
  }

  get isStarted(): boolean {
    return this.#isStarted
  }

  async end(): Promise<void> {
    this.#dismiss()
    if (!this.#isStarted) this.#giveUp.abort()
    // The sender of the message gets the error of a failed start.
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
