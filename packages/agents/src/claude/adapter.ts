import { randomUUID } from 'node:crypto'
import { jumpAwareClock, type AgentAdapter, type AgentContext, type Clock } from '@askback/core'
import { AskbackError, errorMessage } from '@askback/protocol'
import { checkFolder, findProgram, sessionEnvironment, type Environment } from '../program/launch.js'
import { claudeConfigFolder, missingClaudeLogin } from '../program/login.js'
import { killOrphans } from '../program/orphan-processes.js'
import { ClaudeProcess } from './process.js'
import type { ClaudeSdk, McpServer, QueryOptions } from './sdk.js'
import type { ToolKinds } from './tool-kinds.js'

/** An optional peer dependency, so it is imported only when Claude is used. */
const SDK: string = '@anthropic-ai/claude-agent-sdk'

const PARK_AFTER_MS = 2 * 60_000

/** Options of `claudeAgent`. */
export interface ClaudeAgentOptions {
  /**
   * The environment of the agent's process: at least PATH and HOME, and how it reaches its model. Variables of Askback and
   * credentials of databases are removed from it.
   */
  env: Environment
  /**
   * An installed Claude Code: its path, or a command on PATH.
   * @default the Claude Code that comes with the SDK
   */
  executable?: string
  /**
   * Loads the SDK.
   * @default imports the installed `@anthropic-ai/claude-agent-sdk`
   */
  sdk?: () => Promise<ClaudeSdk>
  /**
   * Which of Claude's own settings apply, in addition to `CLAUDE.md`. The settings of a folder (`project`, `local`) name
   * programs that run without a request, and an agent may edit them: add them only where you trust both. Permission rules
   * and hooks never apply, because calls that they allow would be neither asked nor logged.
   * @default ['user']
   */
  settingSources?: NonNullable<QueryOptions['settingSources']>
  /** MCP servers that Claude starts. */
  mcpServers?: Record<string, McpServer>
  /**
   * How long a request waits for a person, in milliseconds; `null` without a limit.
   * @default the desk's
   */
  timeoutMs?: number | null
  /**
   * Tools that ask with a kind of yours instead of an approval, and run with the answer in their input. The desk must know the kinds.
   * @default {}
   */
  tools?: ToolKinds
  /**
   * A process that waits longer than this for one question or plan ends, to free its memory. The answer starts it again.
   * In milliseconds; `null` never.
   * @default 120000
   */
  parkAfterMs?: number | null
  /** @default the system's clock */
  clock?: Clock
  /**
   * Makes the ids of turns.
   * @default random UUIDs
   */
  newId?: () => string
}

/**
 * Claude, through the Claude Agent SDK. Every request of the agent goes through the session's desk. `check` says what is
 * missing if the SDK is not installed; starting a session then fails with `unavailable`.
 *
 * @example
 * const { PATH, HOME, ANTHROPIC_API_KEY } = process.env
 * const host = createHost({ desk, agents: [claudeAgent({ env: { PATH, HOME, ANTHROPIC_API_KEY } })] })
 */
export function claudeAgent(options: ClaudeAgentOptions): AgentAdapter {
  const { env, executable, sdk = importSdk, clock = jumpAwareClock, newId = randomUUID } = options
  return {
    id: 'claude',
    name: 'Claude',
    async check() {
      try {
        const program = await findExecutable(executable, env['PATH'])
        await sdk()
        const uses = program ?? 'the Claude Code that comes with its SDK'
        const reason = await missingClaudeLogin(env)
        return { available: true, uses, ...(reason !== null && { reason }) }
      } catch (error) {
        return { available: false, reason: errorMessage(error) }
      }
    },
    async recover() {
      killOrphans()
    },
    async start(context) {
      const loaded = await sdk()
      const program = await findExecutable(executable, env['PATH'])
      await checkFolder(context.cwd, 'Claude')
      const query = queryOptions(context, options, program)
      return new ClaudeProcess(context, {
        sdk: loaded,
        query,
        configFolder: claudeConfigFolder(query.env),
        parkAfterMs: options.parkAfterMs === undefined ? PARK_AFTER_MS : options.parkAfterMs,
        clock,
        newId,
        ...(options.tools && { tools: options.tools }),
        ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
      })
    },
  }
}

function queryOptions(
  context: AgentContext,
  { env, settingSources = ['user'], mcpServers }: ClaudeAgentOptions,
  program: string | undefined,
): QueryOptions & { env: Record<string, string> } {
  const { cwd, model } = context
  return {
    env: {
      ...sessionEnvironment(context, env),
      // With the session's folder as an additional directory, its CLAUDE.md is read, but none of its other settings.
      CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD: '1',
    },
    settingSources,
    // Without it the SDK sends a single sentence in place of Claude Code's own instructions.
    systemPrompt: { type: 'preset', preset: 'claude_code' },
    managedSettings: { allowManagedPermissionRulesOnly: true, allowManagedHooksOnly: true },
    ...(cwd !== null && { cwd, additionalDirectories: [cwd] }),
    ...(model !== null && { model }),
    ...(program !== undefined && { pathToClaudeCodeExecutable: program }),
    ...(mcpServers && { mcpServers }),
  }
}

async function importSdk(): Promise<ClaudeSdk> {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a test compares this type with those of the package
    return (await import(SDK)) as ClaudeSdk
  } catch (error) {
    throw new AskbackError(
      'unavailable',
      `Claude needs its SDK. Run \`npm install -g ${SDK}\`, or in a clone of Askback \`npm install --no-save ${SDK}\`.`,
      { cause: error },
    )
  }
}

/** `undefined` for the program that comes with the SDK. */
async function findExecutable(
  executable: string | undefined,
  path: string | undefined,
): Promise<string | undefined> {
  if (executable === undefined) return undefined
  const found = await findProgram(executable, path)
  if (found === null)
    throw new AskbackError('unavailable', `There is no Claude Code to run at ${executable}.`)
  return found
}
