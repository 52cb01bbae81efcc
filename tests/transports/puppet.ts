import type { AgentAdapter, AgentContext, AgentProcess, Delta } from '@askback/core'

/** An agent that does nothing by itself: a test moves it. */
export class Puppet implements AgentAdapter {
  readonly id = 'puppet'
  readonly name = 'Puppet'
  readonly #contexts = new Map<string, AgentContext>()

  async check() {
    return { available: true } as const
  }

  async start(context: AgentContext): Promise<AgentProcess> {
    const { sessionId } = context
    this.#contexts.set(sessionId, context)
    let turn: string | null = null
    let end: () => void = () => undefined
    const ended = new Promise<{ how: 'stopped' }>((resolve) => {
      end = () => resolve({ how: 'stopped' })
    })
    return {
      async send({ turnId }) {
        turn = turnId
        await context.report({ type: 'agent_session', agentSessionId: `puppet of ${sessionId}` })
      },
      async interrupt() {
        if (turn !== null) await context.report({ type: 'turn_ended', turnId: turn, reason: 'interrupted' })
        turn = null
      },
      async setPermissionMode() {
        // It does not care.
      },
      async stop() {
        end()
      },
      ended,
    }
  }

  live(sessionId: string, delta: Delta): void {
    this.#contexts.get(sessionId)?.live(delta)
  }
}
