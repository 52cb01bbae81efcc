import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { claudeAgent, type ClaudeAgentOptions } from '@askback/agents/claude'
import type { Clock, InteractionKind } from '@askback/core'
import type { PermissionMode } from '@askback/protocol'
import { agentSession, type EarlierSession } from './agent-session.js'
import { folderOf } from './folders.js'
import { programsOf } from './processes.js'
import type { Scenario } from './scenario.js'

export { me } from './agent-session.js'

export interface ClaudeSessionOptions {
  url: string
  mode?: PermissionMode
  /** A session of an earlier gateway. */
  before?: EarlierSession & { home: string; cwd: string }
  agent?: Partial<ClaudeAgentOptions>
  kinds?: InteractionKind[]
  cwd?: string
  /** The environment of the agent's shells. */
  shells?: Record<string, string>
  clock?: Clock
}

/** A session with the real Claude, whose model is scripted. */
export async function claudeSession({ url, agent, ...options }: ClaudeSessionOptions) {
  const { before } = options
  const home = before?.home ?? (await folderOf('home'))
  const cwd = before?.cwd ?? options.cwd ?? (await folderOf('work'))
  const adapter = claudeAgent({ env: claudeEnv(url, home), sdk: () => Promise.resolve(sdk), ...agent })
  return { ...(await agentSession({ ...options, adapter, cwd })), home, cwd }
}

/** The environment that the real program needs to run without the internet. */
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

export function run(command: string) {
  return { tool: 'Bash', input: { command, description: 'Runs' } }
}

export const helloScenario: Scenario = { when: 'say hello', steps: [{ say: [{ text: 'Hello again.' }] }] }

/** The model starts a command that never ends. */
export const sleepScenario: Scenario = {
  when: 'sleep long',
  steps: [{ say: [run('touch started; tail -f /dev/null')] }],
}

/** The processes of an agent, once there are at least so many: the program, its supervisor, its shell and what that runs. */
export async function atLeastProcesses(count: number, home: string): Promise<number[]> {
  for (;;) {
    const pids = programsOf(home)
    if (pids.length >= count) return pids
    await sleep(50)
  }
}
