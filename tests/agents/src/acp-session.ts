import { join } from 'node:path'
import { acpAgent, type AcpAgentOptions } from '@askback/agents/acp'
import type { PermissionMode } from '@askback/protocol'
import { agentSession, type EarlierSession } from './agent-session.js'
import { folderOf } from './folders.js'

export interface AcpSessionOptions {
  cwd?: string
  mode?: PermissionMode
  before?: EarlierSession & { home: string; cwd: string }
  /** A program to run instead of the scripted agent, with its arguments. */
  command?: string[]
  env?: (home: string) => Record<string, string>
  /** The agent that the scripted one imitates. */
  like?: { name?: string; modes?: string[]; by?: 'modes' | 'configOptions' }
  agent?: Partial<AcpAgentOptions>
}

/** A session with an agent of the Agent Client Protocol: the scripted one, or another. */
export async function acpSession({ command, env, like, agent, ...options }: AcpSessionOptions = {}) {
  const { before } = options
  const home = before?.home ?? (await folderOf('home'))
  const cwd = before?.cwd ?? options.cwd ?? (await folderOf('work'))
  const [program = process.execPath, ...args] = command ?? [process.execPath, scripted]
  const adapter = acpAgent({
    id: 'scripted',
    name: 'Scripted',
    command: program,
    args,
    env: env?.(home) ?? {
      PATH: process.env['PATH'],
      HOME: home,
      ...(like && { SCRIPTED_LIKE: JSON.stringify(like) }),
    },
    ...agent,
  })
  return { ...(await agentSession({ ...options, adapter, cwd })), home, cwd }
}

const scripted = join(import.meta.dirname, 'acp-agent.mjs')
