import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock, type AgentAdapter, type AgentContext, type Availability } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import { AgentChild, type Program } from '../program/child.js'
import { agentEnvironment, type Environment } from '../program/environment.js'
import { canKeep, KeptProgram } from '../program/kept.js'
import { endOrphans, endSession, MARK } from '../program/leftovers.js'
import { checkFolder, findProgram } from '../program/installation.js'
import type { CodexAgentOptions } from './options.js'
import { ExecProcess } from './exec-process.js'
import { CodexProcess } from './process.js'
import { keepServer, keptServer, pipedServer } from './server.js'

export type { CodexAgentOptions } from './options.js'

const MISSING = 'Codex isn’t installed. Run `npm install -g @openai/codex`.'

/** Its model may ask questions outside plan mode, too. */
const QUESTIONS = ['--enable', 'default_mode_request_user_input']

/** It fails over its database while another one, perhaps a person's own, is the first to use its home. */
const MOST_STARTS = 3
const AGAIN_MS = 500
/** It may hang. */
const AHEAD_MS = 10_000

const EXEC = ['exec', '--json', '--skip-git-repo-check']

/** What Askback decides, whatever the person's own configuration says. */
function overrides({ networkAccess = false }: CodexAgentOptions, approvalPolicy: 'on-request' | 'never') {
  // `untrusted` in a configuration file keeps newer versions from starting. A thread still takes it.
  const policy = `approval_policy="${approvalPolicy}"`
  return ['-c', policy, '-c', `sandbox_workspace_write.network_access=${networkAccess}`]
}

/** Codex, by its app-server. Whatever it asks goes through the session's desk. */
export function codexAgent(options: CodexAgentOptions): AgentAdapter {
  const { timeoutMs, keepSeconds = 60, clock = systemClock, newId = randomUUID } = options
  const keepIn = canKeep() ? options.keepIn : undefined
  const settings = { clock, newId, ...(timeoutMs !== undefined && { timeoutMs }) }
  const inTurn = firstAlone()
  return {
    id: 'codex',
    name: 'Codex',
    check: () => available(options),
    async recover() {
      endOrphans()
      if (keepIn !== undefined) await KeptProgram.tidy(keepIn)
    },
    async reconnect(context) {
      const kept = keepIn === undefined ? null : await keptServer(keepIn, context.sessionId)
      if (!kept) return null
      const running = new CodexProcess(context, kept.program, kept.channel, settings)
      return (await running.rejoin()) ? running : null
    },
    start: (context, signal) => inTurn(() => start(context, signal), signal),
  }

  async function start(context: AgentContext, signal: AbortSignal): Promise<CodexProcess> {
    const { sessionId } = context
    for (let left = MOST_STARTS; ; left--) {
      const args = ['app-server', ...overrides(options, 'on-request'), ...QUESTIONS]
      const program = await programOf(options, context, args)
      const kept =
        keepIn === undefined
          ? null
          : await keepServer(program, { folder: keepIn, sessionId, seconds: keepSeconds, signal })
      if (!kept) signal.throwIfAborted()
      const { program: child, channel } = kept ?? pipedServer(program)
      const running = new CodexProcess(context, child, channel, settings)
      try {
        await running.open(signal)
        return running
      } catch (error) {
        if (running.hasSaidHello || signal.aborted || left === 1) throw error
      }
      await sleep(AGAIN_MS, undefined, { signal })
    }
  }
}

/** Of those that begin together in a home that none has used, all but one would fail: the others let the first go ahead. */
function firstAlone() {
  let first: Promise<void> | null = null
  return async function inTurn<T>(start: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (first) await Promise.race([first, sleep(AHEAD_MS, undefined, { signal, ref: false })])
    const starting = start()
    first ??= starting.then(
      () => {},
      () => {
        first = null
      },
    )
    return starting
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
      const start = async (args: string[]) =>
        new AgentChild(
          withoutInput(await programOf(options, context, [...EXEC, ...overrides(options, 'never'), ...args])),
        )
      // Says what is missing before there is anything to say.
      await findCodex(options, context)
      return new ExecProcess(context, { codexHome: codexHome(env), newId, start })
    },
  }
}

function codexHome({ CODEX_HOME: home, HOME: user }: Environment): string {
  return home ?? join(user ?? '', '.codex')
}

/** It would read its input to the end before it begins. */
function withoutInput(program: Program): Program {
  if (process.platform === 'win32') return program
  const args = ['-c', 'exec "$0" "$@" </dev/null', program.command, ...program.args]
  return { ...program, command: '/bin/sh', args }
}

async function available({ env, executable = 'codex' }: CodexAgentOptions): Promise<Availability> {
  const found = await findProgram(executable, env['PATH'])
  return found === null ? { available: false, reason: MISSING } : { available: true }
}

async function findCodex(
  { env, executable = 'codex' }: CodexAgentOptions,
  { cwd }: AgentContext,
): Promise<string> {
  const command = await findProgram(executable, env['PATH'])
  if (command === null) throw new AskbackError('unavailable', MISSING)
  await checkFolder(cwd, 'Codex')
  return command
}

/** What is to be run for a session, of which nothing runs any more then. */
async function programOf(
  options: CodexAgentOptions,
  context: AgentContext,
  args: string[],
): Promise<Program> {
  const { sessionId, cwd, env: shells } = context
  const command = await findCodex(options, context)
  endSession(sessionId)
  return {
    command,
    args: [...(options.args ?? []), ...args],
    env: agentEnvironment(options.env, { ...shells, [MARK]: sessionId }),
    ...(cwd !== null && { cwd }),
  }
}
