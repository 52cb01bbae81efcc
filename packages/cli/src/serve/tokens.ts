import type { Store } from '@askback/core'
import { createSecret } from '@askback/gateway'
import { AskbackError, isRecord } from '@askback/protocol'
import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { readPrivateFile, tokensFile, writePrivateFile } from '../data-folder.js'
import { isLoopback } from './network.js'

export interface Tokens {
  /** The token of the owner, who is the first person. */
  token: string
  /** The token of agents that the gateway did not start. */
  agentToken: string
}

/** The tokens of the environment, else those in the data folder, which are made at the first start. */
export function serveTokens(
  { dataFolder, host }: { dataFolder: string; host: string },
  env: NodeJS.ProcessEnv,
): Tokens {
  const path = tokensFile(dataFolder)
  const { tokens, save } = chooseTokens(readPrivateFile(path), host, env)
  if (save) writePrivateFile(path, { ...save })
  return tokens
}

/** The key of the tokens in an export, and in shared stores of older versions. */
export const TOKENS_KEY = 'tokens'

/**
 * Older versions wrote the tokens into shared stores in plain text. The first gateway that starts moves them into its own folder,
 * so that they stay valid, and removes them from the store.
 */
export async function moveTokensOutOf(store: Store, dataFolder: string): Promise<void> {
  const entry = await store.kv.get(TOKENS_KEY)
  if (!entry) return
  const path = tokensFile(dataFolder)
  if (!readPrivateFile(path) && isRecord(entry.value)) writePrivateFile(path, entry.value)
  await store.kv.put(TOKENS_KEY, null, entry.version)
}

/** Identifies a gateway among those on a shared store. It stays the same for the same machine and folder. */
export function gatewayIdOf(dataFolder: string): string {
  return createHash('sha256').update(`${hostname()}\0${dataFolder}`).digest('hex').slice(0, 32)
}

/** `save` is what to write for the next start; `null` if nothing changed. */
function chooseTokens(
  stored: Record<string, unknown> | null,
  host: string,
  env: NodeJS.ProcessEnv,
): { tokens: Tokens; save: Tokens | null } {
  const given = { token: env['ASKBACK_TOKEN'], agentToken: env['ASKBACK_AGENT_TOKEN'] }
  if (!isLoopback(host) && !given.token && !stored) {
    throw new AskbackError(
      'invalid_request',
      `Others can reach ${host}: set ASKBACK_TOKEN and ASKBACK_AGENT_TOKEN first, or start once on 127.0.0.1 to have tokens made.`,
    )
  }
  const own = {
    token: textOrNull(stored?.['token']) ?? createSecret('askback_person'),
    agentToken: textOrNull(stored?.['agentToken']) ?? createSecret('askback_agents'),
  }
  const tokens = { token: given.token || own.token, agentToken: given.agentToken || own.agentToken }
  if (tokens.token === tokens.agentToken) {
    throw new AskbackError(
      'invalid_request',
      'ASKBACK_TOKEN and ASKBACK_AGENT_TOKEN are the same: an agent could answer its own requests.',
    )
  }
  const isNeeded = !given.token || !given.agentToken
  const isNew = own.token !== stored?.['token'] || own.agentToken !== stored['agentToken']
  return { tokens, save: isNeeded && isNew ? own : null }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
