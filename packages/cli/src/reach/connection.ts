import { AskbackError } from '@askback/protocol/errors'
import { defaultDataFolder } from '../data-folder.js'
import { findGateway, type RunningGateway } from '../running-gateway.js'
import { usageError } from '../usage.js'

/** In whose name a command calls: an agent may ask, only a person may answer. */
export type Role = 'agent' | 'person'

export interface Connection {
  url: string
  token: string
}

export interface Where {
  url?: string | undefined
  data?: string | undefined
}

/** The flags of every command that calls a gateway. A token is none of them: others can read a command line. */
export const WHERE = { url: { type: 'string' }, data: { type: 'string' } } as const

const TOKENS = {
  agent: ['ASKBACK_AGENT_TOKEN', 'ASKBACK_TOKEN'],
  person: ['ASKBACK_TOKEN', 'ASKBACK_AGENT_TOKEN'],
} as const
/** What only the shells of agents have. */
const AGENT_SHELL = ['ASKBACK_SESSION', 'CLAUDECODE', 'CODEX_THREAD_ID']

/** How to reach the gateway: the one on the data folder that is named, else as the environment says, else the user's own. */
export function findConnection(role: Role, where: Where, env: NodeJS.ProcessEnv): Connection {
  const given = where.url ?? (where.data === undefined ? env['ASKBACK_URL'] : undefined)
  const named = where.data === undefined || where.url !== undefined
  const token = named ? TOKENS[role].map((name) => env[name]).find(Boolean) : undefined
  if (given && !URL.canParse(given)) throw usageError(`${JSON.stringify(given)} is no address of a gateway.`)
  if (given && token) return { url: given, token }
  const folder = where.data ?? defaultDataFolder(env)
  const running = findGateway(folder)
  const isIt = running && (!given || new URL(given).origin === new URL(running.url).origin)
  if (isIt) return { url: running.url, token: token ?? tokenOf(running, role, env) }
  if (!given) {
    throw new AskbackError('unavailable', `No gateway runs on ${folder}. Start one with askback serve.`)
  }
  throw new AskbackError('unauthorized', `Set ${TOKENS[role][0]} to a token of the gateway at ${given}.`)
}

/** The gateway lets every process of its user act as that person. An agent must not do so by mere mistake. */
function tokenOf(running: RunningGateway, role: Role, env: NodeJS.ProcessEnv): string {
  if (role === 'agent') return running.agentToken ?? running.token
  if (!AGENT_SHELL.some((name) => env[name])) return running.token
  throw new AskbackError('forbidden', 'Only a person may do this, and this is the shell of an agent.')
}
