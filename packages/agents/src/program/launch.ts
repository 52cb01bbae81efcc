/** Prepares the command line, environment and folder with which an agent's program is started. */
import { access, constants, stat } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import type { AgentContext } from '@askback/core'
import { AskbackError } from '@askback/protocol'
import { killSessionProcesses, RUN_MARK } from './orphan-processes.js'

export type Environment = Readonly<Record<string, string | undefined>>

/** A program and how to run it. */
export interface Program {
  command: string
  args: string[]
  cwd?: string
  env: Environment
}

/**
 * Settings of Askback and credentials of databases. An agent that had them could answer in a person's name, or change the
 * log.
 */
const SECRET_NAMES = [
  /^ASKBACK_/,
  /^TELEGRAM_/,
  /(^|_)DATABASE_URL$/,
  /^PG(PASSWORD|PASSFILE|SERVICE|SERVICEFILE)$/,
]
const DATABASE_URL = /^(postgres(ql)?|mysql|mariadb|mongodb(\+srv)?|rediss?):\/\//i

/**
 * Kills what an earlier agent of the session has left running, and returns the environment for the next one: `base` without
 * secrets, what the agent's shells need to reach Askback, and the mark of the session.
 */
export function sessionEnvironment(
  { sessionId, env: shells }: Pick<AgentContext, 'sessionId' | 'env'>,
  base: Environment,
): Record<string, string> {
  killSessionProcesses(sessionId)
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(base)) {
    if (value !== undefined && !isSecret(name, value)) env[name] = value
  }
  return { ...env, ...shells, [RUN_MARK]: sessionId }
}

/** The program of a session's agent, of which no other process runs afterwards. */
export function sessionProgram(
  context: Pick<AgentContext, 'sessionId' | 'env' | 'cwd'>,
  { command, args, env }: Program,
): Program {
  const { cwd } = context
  return { command, args, env: sessionEnvironment(context, env), ...(cwd !== null && { cwd }) }
}

/** The path of a program that is given by its path or by a name on PATH; `null` if there is none that can be run. */
export async function findProgram(name: string, path: string | undefined): Promise<string | null> {
  const isPath = /[/\\]/.test(name)
  const folders = (path ?? '').split(delimiter).filter(Boolean)
  for (const candidate of isPath ? [name] : folders.map((folder) => join(folder, name))) {
    const isExecutable = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isExecutable) return candidate
  }
  return null
}

/** Throws `invalid_request` with the folder's name if it does not exist. A program would only fail to start. */
export async function checkFolder(cwd: string | null, agentName: string): Promise<void> {
  if (cwd === null) return
  const found = await stat(cwd).catch(() => null)
  if (!found?.isDirectory())
    throw new AskbackError(
      'invalid_request',
      `The folder ${cwd} does not exist, so ${agentName} cannot work in it.`,
    )
}

function isSecret(name: string, value: string): boolean {
  return SECRET_NAMES.some((pattern) => pattern.test(name)) || DATABASE_URL.test(value)
}
