import { acpAgent } from '@askback/agents/acp'
import { claudeAgent } from '@askback/agents/claude'
import { codexAgent, codexExecAgent } from '@askback/agents/codex'
import { demoAgent } from '@askback/agents/demo'
import type { AgentAdapter } from '@askback/core'
import type { GatewayConfig } from '@askback/gateway'
import { join } from 'node:path'

/** Every agent that the gateway can run, the one that needs nothing first. */
export function agentAdapters(
  { claude, codex, acp }: GatewayConfig['agents'],
  dataFolder?: string,
): AgentAdapter[] {
  const { env } = process
  const { executable, settingSources } = claude
  const ofClaude = {
    env,
    ...(executable !== undefined && { executable }),
    ...(settingSources && { settingSources }),
  }
  const ofCodex = {
    env,
    networkAccess: codex.networkAccess,
    ...(codex.executable !== undefined && { executable: codex.executable }),
  }
  return [
    demoAgent(),
    claudeAgent(ofClaude),
    codexAgent({ ...ofCodex, ...(dataFolder !== undefined && { keepIn: join(dataFolder, 'running') }) }),
    codexExecAgent(ofCodex),
    ...acp.map(({ name, mode, ...agent }) =>
      acpAgent({ ...agent, name: name ?? agent.id, env, ...(mode !== undefined && { mode }) }),
    ),
  ]
}
