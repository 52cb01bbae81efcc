import { AskbackError } from '@askback/protocol/errors'
import { usageError } from '../arguments.js'
import { defaultDataFolder, findGateway, type RunningGateway } from '../data-folder.js'

/** In whose name a command calls. Agents may open requests; only people may answer them. */
export type CallerRole = 'agent' | 'person'

export interface GatewayConnection {
  url: string
  token: string
}

/** Which gateway to call, as the flags say. */
export interface GatewayAddress {
  url?: string | undefined
  data?: string | undefined
}

/** The flags of all commands that call a gateway. There is none for a token, because other users can read command lines. */
export const ADDRESS_FLAGS = { url: { type: 'string' }, data: { type: 'string' } } as const

const TOKEN_VARIABLES = {
  agent: ['ASKBACK_AGENT_TOKEN', 'ASKBACK_TOKEN'],
  person: ['ASKBACK_TOKEN', 'ASKBACK_AGENT_TOKEN'],
} as const
/** Variables that are only set in the shells of agents. */
const AGENT_SHELL_VARIABLES = ['ASKBACK_SESSION', 'CLAUDECODE', 'CODEX_THREAD_ID']

/**
 * Finds the gateway to call: the one at `--url` or on the folder of `--data`, else the one of `ASKBACK_URL`, else the one on the
 * user's data folder. Throws `unavailable` if none is announced there, and `unauthorized` if there is no token for it.
 */
export function findConnection(
  role: CallerRole,
  where: GatewayAddress,
  env: NodeJS.ProcessEnv,
): GatewayConnection {
  const given = where.url ?? (where.data === undefined ? env['ASKBACK_URL'] : undefined)
  // The variables hold tokens for the gateway of the environment, not for one that is named by its data folder.
  const usesVariables = where.data === undefined || where.url !== undefined
  const token = usesVariables ? TOKEN_VARIABLES[role].map((name) => env[name]).find(Boolean) : undefined
  if (given && !URL.canParse(given)) throw usageError(`${JSON.stringify(given)} is no address of a gateway.`)
  if (given && token) return { url: given, token }
  const folder = where.data ?? defaultDataFolder(env)
  const running = findGateway(folder)
  const isRunningHere = running && (!given || new URL(given).origin === new URL(running.url).origin)
  if (isRunningHere) return { url: running.url, token: token ?? announcedToken(running, role, env) }
  if (!given) {
    throw new AskbackError('unavailable', `No gateway runs on ${folder}. Start one with askback serve.`)
  }
  throw new AskbackError(
    'unauthorized',
    `Set ${TOKEN_VARIABLES[role][0]} to a token of the gateway at ${given}.`,
  )
}

/** Every process of the user can read a person's token here. This keeps an agent from using it by mistake. */
function announcedToken(running: RunningGateway, role: CallerRole, env: NodeJS.ProcessEnv): string {
  if (role === 'agent') return running.agentToken ?? running.token
  if (!AGENT_SHELL_VARIABLES.some((name) => env[name])) return running.token
  throw new AskbackError('forbidden', 'Only a person may do this, and this is the shell of an agent.')
}
