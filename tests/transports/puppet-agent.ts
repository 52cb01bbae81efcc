import type { AgentAdapter, AgentContext, AgentProcess, LiveDelta } from '@askback/core'

/** An agent that does nothing by itself: a test decides what it reports. */
export class PuppetAgent implements AgentAdapter {
  readonly id = 'puppet'
  readonly name = 'Puppet'
  readonly #contexts = new Map<string, AgentContext>()

  async check() {
    return { available: true } as const
  }

  async start(context: AgentContext): Promise<AgentProcess> {
    const { sessionId } = context
    this.#contexts.set(sessionId, context)
    let activeTurn: string | null = null
    let end: () => void = () => undefined
    const ended = new Promise<{ how: 'stopped' }>((resolve) => {
      end = () => resolve({ how: 'stopped' })
    })
    return {
      async send({ turnId }) {
        activeTurn = turnId
        await context.report({ type: 'agent_session', agentSessionId: `puppet of ${sessionId}` })
      },
      async interrupt() {
        if (activeTurn !== null)
          await context.report({ type: 'turn_ended', turnId: activeTurn, reason: 'interrupted' })
        activeTurn = null
      },
      async setPermissionMode() {
        // It asks for nothing, so the mode makes no difference.
      },
      async stop() {
        end()
      },
      ended,
    }
  }

  /** Sends a piece of an unfinished block, if the agent of this session runs. */
  live(sessionId: string, delta: LiveDelta): void {
    this.#contexts.get(sessionId)?.live(delta)
  }
}
