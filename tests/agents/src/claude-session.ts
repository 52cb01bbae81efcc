import { join } from 'node:path'
import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { claudeAgent, type ClaudeAgentOptions } from '@askback/agents/claude'
import type { PermissionMode } from '@askback/protocol'
import { agentSession, type Before } from './agent-session.js'
import { folderOf } from './folders.js'

export { me } from './agent-session.js'

export interface SessionOptions {
  url: string
  mode?: PermissionMode
  /** A session that an earlier gateway had. */
  before?: Before & { home: string; cwd: string }
  agent?: Partial<ClaudeAgentOptions>
  cwd?: string
  /** What the agent's shells find in their environment. */
  shells?: Record<string, string>
}

/** A gateway's inside with the real Claude in it, talking to a scripted model. */
export async function claudeSession({ url, agent, ...options }: SessionOptions) {
  const { before } = options
  const home = before?.home ?? (await folderOf('home'))
  const cwd = before?.cwd ?? options.cwd ?? (await folderOf('work'))
  const adapter = claudeAgent({ env: claudeEnv(url, home), sdk: () => Promise.resolve(sdk), ...agent })
  return { ...(await agentSession({ ...options, adapter, cwd })), home, cwd }
}

/** What the real program needs to run without the internet. */
export function claudeEnv(url: string, home: string): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    HOME: home,
    CLAUDE_CONFIG_DIR: join(home, '.claude'),
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: 'dummy',
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_ERROR_REPORTING: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  }
}
