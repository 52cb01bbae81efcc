import { randomUUID } from 'node:crypto'
import { jumpAwareClock, type AgentAdapter, type Clock } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import { ChildProgram } from '../program/child-program.js'
import { checkFolder, findProgram, sessionProgram, type Environment } from '../program/launch.js'
import { AcpProcess } from './process.js'

/** Options of `acpAgent`. */
export interface AcpAgentOptions {
  /** The agent's id in the API, such as `gemini`. */
  id: string
  /** The agent's name for people. */
  name: string
  /** The program: a path, or a command on PATH. */
  command: string
  /** @default [] */
  args?: string[]
  /**
   * The id of the agent's own mode to use outside plan mode. Starting a session fails if the agent does not have it.
   * @default a mode that is known to ask a person, if the agent has one
   */
  mode?: string
  /**
   * The model of sessions that name none, by the agent's own id for it. Starting a session fails if the agent does not have it.
   * @default the agent's choice
   */
  model?: string
  /**
   * The environment of the agent's process: at least PATH and HOME, and how it reaches its model. Variables of Askback and
   * credentials of databases are removed from it.
   */
  env: Environment
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

/**
 * Any agent that speaks the Agent Client Protocol. Every request of the agent goes through the session's desk. `check` says
 * if its program is missing; starting a session then fails with `unavailable`.
 *
 * @example
 * const { PATH, HOME, GEMINI_API_KEY } = process.env
 * const env = { PATH, HOME, GEMINI_API_KEY }
 * const gemini = acpAgent({ id: 'gemini', name: 'Gemini', command: 'gemini', args: ['--acp'], env })
 * const host = createHost({ desk, agents: [gemini] })
 */
export function acpAgent(options: AcpAgentOptions): AgentAdapter {
  const {
    id,
    name,
    command,
    args = [],
    mode,
    model,
    env,
    timeoutMs,
    clock = jumpAwareClock,
    newId = randomUUID,
  } = options
  const missing = `There is no ${command} to run: install ${name}, or correct its command.`
  return {
    id,
    name,
    async check() {
      const found = await findProgram(command, env['PATH'])
      return found === null ? { available: false, reason: missing } : { available: true }
    },
    async start(context, signal) {
      const program = await findProgram(command, env['PATH'])
      if (program === null) throw new AskbackError('unavailable', missing)
      await checkFolder(context.cwd, name)
      const child = new ChildProgram(sessionProgram(context, { command: program, args, env }))
      const timeout = timeoutMs === undefined ? {} : { timeoutMs }
      const running = new AcpProcess(context, child, { name, mode, model, clock, newId, ...timeout })
      await running.open(signal)
      return running
    },
  }
}
