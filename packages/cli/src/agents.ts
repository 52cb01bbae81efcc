import { claudeAgent } from '@askback/agents/claude'
import { codexAgent } from '@askback/agents/codex'
import { demoAgent } from '@askback/agents/demo'
import type { AgentAdapter } from '@askback/core'

/** Every agent that the gateway can run, the one that needs nothing first. */
export function agentAdapters(): AgentAdapter[] {
  return [demoAgent(), claudeAgent({ env: process.env }), codexAgent({ env: process.env })]
}
