import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  jumpAwareClock,
  type AgentAdapter,
  type AgentContext,
  type Availability,
  type Clock,
} from '@askback/core'
import { AskbackError } from '@askback/protocol'
import { ChildProgram } from '../program/child-program.js'
import { canDetachPrograms, DetachedProgram } from '../program/detached-program.js'
import {
  checkFolder,
  findProgram,
  sessionProgram,
  type Environment,
  type Program,
} from '../program/launch.js'
import { codexConfigFolder, missingCodexLogin } from '../program/login.js'
import { killOrphans } from '../program/orphan-processes.js'
import { findDetachedServer, startDetachedServer, startPipedServer } from './app-server.js'
import { AppServerProcess } from './app-server-process.js'
import { ExecProcess } from './exec-process.js'

/** Options of `codexAgent` and `codexExecAgent`. */
export interface CodexAgentOptions {
  /**
   * The environment of the agent's process: at least PATH and HOME, and how it reaches its model. Variables of Askback and
   * credentials of databases are removed from it.
   */
  env: Environment
  /**
   * The program: a path, or a command on PATH.
   * @default 'codex'
   */
  executable?: string
  /** Arguments of the program that go before its command, such as `-c key=value`. */
  args?: string[]
  /**
   * Whether commands in the sandbox can use the network. With it, scripts reach Askback on loopback and can ask. But so can
   * every command, and one that reads the gateway's data folder finds a person's token there.
   * @default false
   */
  networkAccess?: boolean
  /**
   * A folder that nobody else may read. With it, Codex continues for a while if its gateway is killed, and the next gateway
   * with the same folder finds it again in the middle of its turn. On Linux only.
   * @default Codex ends with its gateway
   */
  detachedFolder?: string
  /**
   * How long it continues without a gateway, in seconds.
   * @default 60
   */
  detachedSeconds?: number
  /**
   * How long a request waits for a person, in milliseconds; `null` without a limit.
   * @default the desk's
   */
  timeoutMs?: number | null
  /** @default the system's clock */
  clock?: Clock
  /**
   * Makes the ids of events.
   * @default random UUIDs
   */
  newId?: () => string
}

const NOT_INSTALLED = 'Codex isn’t installed. Run `npm install -g @openai/codex`.'

/** Lets the model ask questions outside plan mode, too. */
const ENABLE_QUESTIONS = ['--enable', 'default_mode_request_user_input']

/** Codex fails if another Codex, perhaps a person's own, creates the database in the same home at the same time. */
const MAX_STARTS = 3
const RETRY_AFTER_MS = 500
/** The first Codex in a home may hang. The others do not wait longer than this. */
const MAX_FIRST_START_MS = 10_000

const EXEC = ['exec', '--json', '--skip-git-repo-check']

/**
 * Codex, through `codex app-server`. Every request of the agent goes through the session's desk. `check` says if Codex is not
 * installed; starting a session then fails with `unavailable`.
 *
 * @example
 * const { PATH, HOME } = process.env
 * const host = createHost({ desk, agents: [codexAgent({ env: { PATH, HOME } })] })
 */
export function codexAgent(options: CodexAgentOptions): AgentAdapter {
  const { timeoutMs, detachedSeconds = 60, clock = jumpAwareClock, newId = randomUUID } = options
  const detachedFolder = canDetachPrograms() ? options.detachedFolder : undefined
  const processOptions = { clock, newId, ...(timeoutMs !== undefined && { timeoutMs }) }
  const startInOrder = waitForFirstStart()
  return {
    id: 'codex',
    name: 'Codex',
    check: () => checkInstalled(options),
    async recover() {
      killOrphans()
      if (detachedFolder !== undefined) await DetachedProgram.removeEnded(detachedFolder)
    },
    async reconnect(context) {
      const server =
        detachedFolder === undefined ? null : await findDetachedServer(detachedFolder, context.sessionId)
      if (!server) return null
      const running = new AppServerProcess(context, server, processOptions)
      return (await running.rejoin()) ? running : null
    },
    start: (context, signal) => startInOrder(() => start(context, signal), signal),
  }

  async function start(context: AgentContext, signal: AbortSignal): Promise<AppServerProcess> {
    const { sessionId } = context
    for (let left = MAX_STARTS; ; left--) {
      const args = ['app-server', ...overrides(options, 'on-request'), ...ENABLE_QUESTIONS]
      const program = await codexProgram(options, context, args)
      const detached =
        detachedFolder === undefined
          ? null
          : await startDetachedServer(program, {
              folder: detachedFolder,
              sessionId,
              seconds: detachedSeconds,
              signal,
            })
      if (!detached) signal.throwIfAborted()
      const running = new AppServerProcess(context, detached ?? startPipedServer(program), processOptions)
      try {
        await running.open(signal)
        return running
      } catch (error) {
        if (running.isInitialized || signal.aborted || left === 1) throw error
      }
      await sleep(RETRY_AFTER_MS, undefined, { signal })
    }
  }
}

/**
 * Codex through `codex exec`, which asks nobody for approval: only its sandbox limits it. Scripts in its shells can still ask,
 * and their requests appear at the tool call that runs them.
 *
 * @example
 * const { PATH, HOME } = process.env
 * const host = createHost({ desk, agents: [codexExecAgent({ env: { PATH, HOME }, networkAccess: true })] })
 */
export function codexExecAgent(options: CodexAgentOptions): AgentAdapter {
  const { env, clock = jumpAwareClock, newId = randomUUID } = options
  return {
    id: 'codex-exec',
    name: 'Codex CLI',
    check: () => checkInstalled(options),
    async start(context) {
      const start = async (args: string[]) => {
        const program = await codexProgram(options, context, [
          ...EXEC,
          ...overrides(options, 'never'),
          ...args,
        ])
        return new ChildProgram(withoutInput(program))
      }
      // The first message starts the program. If it is missing, that must be reported now.
      await findCodex(options, context)
      return new ExecProcess(context, { codexHome: codexConfigFolder(env), clock, newId, start })
    },
  }
}

/** Settings that Askback decides, whatever the person's own configuration contains. */
function overrides({ networkAccess = false }: CodexAgentOptions, approvalPolicy: 'on-request' | 'never') {
  // Newer versions do not start with the policy `untrusted` in their configuration. A thread still accepts it.
  const policy = `approval_policy="${approvalPolicy}"`
  return ['-c', policy, '-c', `sandbox_workspace_write.network_access=${networkAccess}`]
}

/** If several start at once in an unused home, all but one fail. So the others wait until the first has started. */
function waitForFirstStart() {
  let first: Promise<void> | null = null
  return async function startInOrder<T>(start: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (first) await Promise.race([first, sleep(MAX_FIRST_START_MS, undefined, { signal, ref: false })])
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

/** `codex exec` reads its standard input to the end before it begins. */
function withoutInput(program: Program): Program {
  if (process.platform === 'win32') return program
  const args = ['-c', 'exec "$0" "$@" </dev/null', program.command, ...program.args]
  return { ...program, command: '/bin/sh', args }
}

async function checkInstalled({ env, executable = 'codex' }: CodexAgentOptions): Promise<Availability> {
  const found = await findProgram(executable, env['PATH'])
  if (found === null) return { available: false, reason: NOT_INSTALLED }
  const reason = await missingCodexLogin(env)
  return { available: true, ...(reason !== null && { reason }) }
}

async function findCodex(
  { env, executable = 'codex' }: CodexAgentOptions,
  { cwd }: AgentContext,
): Promise<string> {
  const command = await findProgram(executable, env['PATH'])
  if (command === null) throw new AskbackError('unavailable', NOT_INSTALLED)
  await checkFolder(cwd, 'Codex')
  return command
}

async function codexProgram(
  options: CodexAgentOptions,
  context: AgentContext,
  args: string[],
): Promise<Program> {
  const command = await findCodex(options, context)
  return sessionProgram(context, { command, args: [...(options.args ?? []), ...args], env: options.env })
}
