import { randomUUID } from 'node:crypto'
import { systemClock, type AgentAdapter, type AgentContext, type Availability } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import { ClaudeChild } from '../claude/child.js'
import { agentEnvironment } from '../claude/environment.js'
import { endSession, MARK } from '../claude/leftovers.js'
import { checkFolder, findProgram } from '../installation.js'
import type { CodexAgentOptions } from './options.js'
import { CodexProcess } from './process.js'

export type { CodexAgentOptions } from './options.js'

const MISSING = 'There is no Codex to run: npm install -g @openai/codex'

/** Scripts in its shells reach Askback by loopback, and its model may ask questions outside plan mode, too. */
const SETTINGS = [
  '-c',
  'sandbox_workspace_write.network_access=true',
  '--enable',
  'default_mode_request_user_input',
]

/** Codex, by its app-server. Whatever it asks goes through the session's desk. */
export function codexAgent(options: CodexAgentOptions): AgentAdapter {
  const { socket, timeoutMs, clock = systemClock, newId = randomUUID } = options
  return {
    id: 'codex',
    name: 'Codex',
    check: () => available(options),
    async start(context) {
      const args =
        socket === undefined ? ['app-server', ...SETTINGS] : ['app-server', 'proxy', '--sock', socket]
      const child = await startProgram(options, context, args)
      const running = new CodexProcess(context, child, {
        clock,
        newId,
        ...(timeoutMs !== undefined && { timeoutMs }),
      })
      await running.open()
      return running
    },
  }
}

async function available({ env, executable = 'codex' }: CodexAgentOptions): Promise<Availability> {
  const found = await findProgram(executable, env['PATH'])
  return found === null ? { available: false, reason: MISSING } : { available: true }
}

async function startProgram(
  { env, executable = 'codex', args: given = [] }: CodexAgentOptions,
  { sessionId, cwd, env: shells }: AgentContext,
  args: string[],
): Promise<ClaudeChild> {
  const command = await findProgram(executable, env['PATH'])
  if (command === null) throw new AskbackError('unavailable', MISSING)
  await checkFolder(cwd, 'Codex')
  endSession(sessionId)
  const environment = agentEnvironment(env, { ...shells, [MARK]: sessionId })
  return new ClaudeChild({
    command,
    args: [...given, ...args],
    env: environment,
    ...(cwd !== null && { cwd }),
  })
}
