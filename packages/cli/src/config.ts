import { acpAgent } from '@askback/agents/acp'
import { claudeAgent } from '@askback/agents/claude'
import { codexAgent, codexExecAgent } from '@askback/agents/codex'
import { demoAgent } from '@askback/agents/demo'
import type { AgentAdapter } from '@askback/core'
import { gatewayConfig, type GatewayConfig } from '@askback/gateway'
import { AskbackError, errorMessage } from '@askback/protocol'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseTimeout } from './arguments.js'

interface ConfigOverrides {
  /** The settings file, which must exist. @default config.json in the data folder, if it exists */
  file?: string
  /** The path of the Claude Code to run. */
  claude?: string | undefined
}

/** Reads and checks the settings file, and applies what overrides it. */
export function readConfig(dataFolder: string, { file, claude }: ConfigOverrides): GatewayConfig {
  const config = readSettings(dataFolder, file)
  if (claude !== undefined && claude !== '') config.agents.claude.executable = claude
  return config
}

function readSettings(dataFolder: string, named: string | undefined): GatewayConfig {
  const path = resolve(named ?? join(dataFolder, 'config.json'))
  let settings: unknown
  try {
    settings = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    if (!isMissing || named !== undefined) {
      const why = errorMessage(error)
      throw new AskbackError('invalid_request', `The settings ${path} cannot be read: ${why}.`)
    }
    settings = {}
  }
  const parsed = gatewayConfig.safeParse(settings)
  if (parsed.success) {
    const { timeout } = parsed.data
    if (timeout !== undefined) parseTimeout(timeout, `timeout in ${path}`)
    return parsed.data
  }
  const [issue] = parsed.error.issues
  const where = issue?.path.length ? ` at ${issue.path.join('.')}` : ''
  throw new AskbackError('invalid_request', `The settings ${path} do not fit${where}: ${issue?.message}.`)
}

/**
 * All agents that the gateway can run. The demo comes first: a session that names no agent gets it, and it needs no other program.
 * With a data folder, a Codex that still runs after a restart of the gateway is used again.
 */
export function agentAdapters(
  { claude, codex, acp }: GatewayConfig['agents'],
  dataFolder?: string,
): AgentAdapter[] {
  const { env } = process
  const { executable, settingSources } = claude
  const claudeOptions = {
    env,
    ...(executable !== undefined && { executable }),
    ...(settingSources && { settingSources }),
  }
  const codexOptions = {
    env,
    networkAccess: codex.networkAccess,
    ...(codex.executable !== undefined && { executable: codex.executable }),
  }
  return [
    demoAgent(),
    claudeAgent(claudeOptions),
    codexAgent({
      ...codexOptions,
      ...(dataFolder !== undefined && { detachedFolder: join(dataFolder, 'running') }),
    }),
    codexExecAgent(codexOptions),
    ...acp.map(({ name, mode, ...agent }) =>
      acpAgent({ ...agent, name: name ?? agent.id, env, ...(mode !== undefined && { mode }) }),
    ),
  ]
}
