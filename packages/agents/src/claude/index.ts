import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { systemClock, type AgentAdapter, type Clock } from '@askback/core'
import { agentEnvironment, type Environment } from '../program/environment.js'
import { checkFolder } from '../program/installation.js'
import { loadSdk, namedProgram } from './installation.js'
import { endOrphans, endSession, MARK } from '../program/leftovers.js'
import { ClaudeProcess } from './process.js'
import type { ClaudeSdk, McpServer, QueryOptions } from './sdk.js'

export { connectClaude, type ConnectClaudeOptions, type ConnectedClaude } from './connect.js'
export { createClaudeHooks, type ClaudeHooks, type ClaudeHooksOptions } from './hooks.js'
export type { ApprovedPlan } from './plan-review.js'
export type * from './sdk.js'

export interface ClaudeAgentOptions {
  /**
   * What the agent's process finds in its environment: at least PATH and HOME, and how it reaches its model. What is
   * meant for Askback itself, and URLs of databases, are taken out.
   */
  env: Environment
  /** An installed Claude Code to use instead of the one that the SDK brings: its path, or a command. */
  executable?: string
  /** Loads the SDK; the installed `@anthropic-ai/claude-agent-sdk` by default. */
  sdk?: () => Promise<ClaudeSdk>
  /**
   * Which of Claude's own settings count beside `CLAUDE.md`; the user's by default. A folder's own (`project`, `local`) name
   * programs that run without being asked about, and an agent may write there: add them where you trust both. Rules and
   * hooks never count, wherever they stand: what they allow would be neither asked nor logged.
   */
  settingSources?: NonNullable<QueryOptions['settingSources']>
  mcpServers?: Record<string, McpServer>
  /** How long a request waits for a person; the desk's default without it. */
  timeoutMs?: number | null
  /**
   * A process that waits longer than this for a single question or plan ends, to free its memory, and goes on with the
   * answer. Two minutes by default; `null` never.
   */
  parkAfterMs?: number | null
  clock?: Clock
  newId?: () => string
}

const PARK_AFTER_MS = 2 * 60_000

/** Claude, by its own Agent SDK. Whatever it asks goes through the session's desk. */
export function claudeAgent(options: ClaudeAgentOptions): AgentAdapter {
  const { env, executable, sdk = loadSdk, clock = systemClock, newId = randomUUID } = options
  return {
    id: 'claude',
    name: 'Claude',
    async check() {
      try {
        const program = await namedProgram(executable, env['PATH'])
        await sdk()
        return { available: true, uses: program ?? 'the Claude Code that comes with its SDK' }
      } catch (error) {
        return { available: false, reason: error instanceof Error ? error.message : String(error) }
      }
    },
    async recover() {
      endOrphans()
    },
    async start(context) {
      const { cwd, model } = context
      const loaded = await sdk()
      const program = await namedProgram(executable, env['PATH'])
      await checkFolder(cwd, 'Claude')
      endSession(context.sessionId)
      const environment = agentEnvironment(env, {
        ...context.env,
        // With the folder as an additional one, the words in its CLAUDE.md count, and nothing else of its settings.
        CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD: '1',
        [MARK]: context.sessionId,
      })
      const query: QueryOptions = {
        env: environment,
        settingSources: options.settingSources ?? ['user'],
        // Without it the SDK sends a single sentence in place of Claude Code's own instructions.
        systemPrompt: { type: 'preset', preset: 'claude_code' },
        managedSettings: { allowManagedPermissionRulesOnly: true, allowManagedHooksOnly: true },
        ...(cwd !== null && { cwd, additionalDirectories: [cwd] }),
        ...(model !== null && { model }),
        ...(program !== undefined && { pathToClaudeCodeExecutable: program }),
        ...(options.mcpServers && { mcpServers: options.mcpServers }),
      }
      return new ClaudeProcess(context, {
        sdk: loaded,
        query,
        configFolder: configFolder(environment),
        parkAfterMs: options.parkAfterMs === undefined ? PARK_AFTER_MS : options.parkAfterMs,
        clock,
        newId,
        ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
      })
    },
  }
}

function configFolder({ CLAUDE_CONFIG_DIR: config, HOME: home }: Record<string, string>): string | null {
  return config ?? (home === undefined ? null : join(home, '.claude'))
}
