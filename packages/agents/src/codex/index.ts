import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { systemClock, type AgentAdapter, type AgentContext, type Availability } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import { AgentChild } from '../program/child.js'
import { agentEnvironment, type Environment } from '../program/environment.js'
import { endSession, MARK } from '../program/leftovers.js'
import { lineChannel } from '../program/lines.js'
import { checkFolder, findProgram } from '../program/installation.js'
import type { CodexAgentOptions } from './options.js'
import { ExecProcess } from './exec-process.js'
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
  const { timeoutMs, clock = systemClock, newId = randomUUID } = options
  return {
    id: 'codex',
    name: 'Codex',
    check: () => available(options),
    async start(context) {
      const child = await startProgram(options, context, ['app-server', ...SETTINGS])
      const running = new CodexProcess(context, child, lineChannel(child.process), {
        clock,
        newId,
        ...(timeoutMs !== undefined && { timeoutMs }),
      })
      await running.open()
      return running
    },
  }
}

/**
 * Codex by its plain command, which asks nobody: its sandbox holds it. Scripts in its shell can still ask, and what they ask
 * stands at their call.
 */
export function codexExecAgent(options: CodexAgentOptions): AgentAdapter {
  const { env, newId = randomUUID } = options
  return {
    id: 'codex-exec',
    name: 'Codex CLI',
    check: () => available(options),
    async start(context) {
      const start = (args: string[]) =>
        startProgram(options, context, ['exec', '--json', '--skip-git-repo-check', ...args], withoutInput)
      const running = new ExecProcess(context, { codexHome: codexHome(env), newId, start })
      // Says what is missing before there is anything to say.
      await programOf(options, context)
      return running
    },
  }
}

function codexHome({ CODEX_HOME: home, HOME: user }: Environment): string {
  return home ?? join(user ?? '', '.codex')
}

interface Program {
  command: string
  args: string[]
}

/** It would read its input to the end before it begins. */
function withoutInput({ command, args }: Program): Program {
  if (process.platform === 'win32') return { command, args }
  return { command: '/bin/sh', args: ['-c', 'exec "$0" "$@" </dev/null', command, ...args] }
}

async function available({ env, executable = 'codex' }: CodexAgentOptions): Promise<Availability> {
  const found = await findProgram(executable, env['PATH'])
  return found === null ? { available: false, reason: MISSING } : { available: true }
}

async function programOf(
  { env, executable = 'codex' }: CodexAgentOptions,
  { cwd }: AgentContext,
): Promise<string> {
  const command = await findProgram(executable, env['PATH'])
  if (command === null) throw new AskbackError('unavailable', MISSING)
  await checkFolder(cwd, 'Codex')
  return command
}

async function startProgram(
  options: CodexAgentOptions,
  context: AgentContext,
  args: string[],
  run: (program: Program) => Program = (program) => program,
): Promise<AgentChild> {
  const { sessionId, cwd, env: shells } = context
  const command = await programOf(options, context)
  endSession(sessionId)
  return new AgentChild({
    ...run({ command, args: [...(options.args ?? []), ...args] }),
    env: agentEnvironment(options.env, { ...shells, [MARK]: sessionId }),
    ...(cwd !== null && { cwd }),
  })
}
