import { randomUUID } from 'node:crypto'
import { systemClock, type AgentAdapter, type Clock } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import { AgentChild } from '../program/child.js'
import { agentEnvironment, type Environment } from '../program/environment.js'
import { endSession, MARK } from '../program/leftovers.js'
import { checkFolder, findProgram } from '../program/installation.js'
import { AcpProcess } from './process.js'

export interface AcpAgentOptions {
  /** What the agent is called in the API, such as `gemini`. */
  id: string
  /** What people read. */
  name: string
  /** The program: a path, or a name on PATH. */
  command: string
  args?: string[]
  /** The agent's own mode outside plan mode, by its id. By default one that is known to ask a person, if there is one. */
  mode?: string
  /**
   * What the agent's process finds in its environment: at least PATH and HOME, and how it reaches its model. What is
   * meant for Askback itself, and URLs of databases, are taken out.
   */
  env: Environment
  /** How long a request waits for a person; the desk's default without it. */
  timeoutMs?: number | null
  clock?: Clock
  newId?: () => string
}

/** Any agent that speaks the Agent Client Protocol. Whatever it asks goes through the session's desk. */
export function acpAgent(options: AcpAgentOptions): AgentAdapter {
  const {
    id,
    name,
    command,
    args = [],
    mode,
    env,
    timeoutMs,
    clock = systemClock,
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
      const { sessionId, cwd } = context
      await checkFolder(cwd, name)
      endSession(sessionId)
      const child = new AgentChild({
        command: program,
        args,
        env: agentEnvironment(env, { ...context.env, [MARK]: sessionId }),
        ...(cwd !== null && { cwd }),
      })
      const timeout = timeoutMs === undefined ? {} : { timeoutMs }
      const running = new AcpProcess(context, child, { name, mode, clock, newId, ...timeout })
      await running.open(signal)
      return running
    },
  }
}
