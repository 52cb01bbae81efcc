import type { Store } from '@askback/core'
import { newToken } from '@askback/gateway'
import { AskbackError } from '@askback/protocol'
import { createHash } from 'node:crypto'
import { hostname } from 'node:os'
import { readPrivate, tokensFile, writePrivate } from '../private-file.js'
import { isLoopback } from './addresses.js'

export interface Tokens {
  /** The first person's. */
  token: string
  /** For agents that run elsewhere. */
  agentToken: string
}

/** From the environment, else as they were made at the first start. */
export function serveTokens(
  { dataFolder, host }: { dataFolder: string; host: string },
  env: NodeJS.ProcessEnv,
): Tokens {
  const path = tokensFile(dataFolder)
  const { tokens, keep } = chooseTokens(readPrivate(path), host, env)
  if (keep) writePrivate(path, { ...keep })
  return tokens
}

/** How an export names the tokens of a gateway, and how a shared store once held them. */
export const TOKENS_KEY = 'tokens'

/**
 * Shared stores used to hold the tokens as they are. Whichever gateway starts first takes them into its own folder, so
 * that they stay good, and removes them.
 */
export async function takeTokensOutOf(store: Store, dataFolder: string): Promise<void> {
  const entry = await store.kv.get(TOKENS_KEY)
  if (!entry) return
  const path = tokensFile(dataFolder)
  if (!readPrivate(path)) writePrivate(path, entry.value as Record<string, unknown>)
  await store.kv.put(TOKENS_KEY, null, entry.version)
}

/** Tells the gateways on a shared store apart: the same machine and folder are the same one, after a restart too. */
export function gatewayIdOf(dataFolder: string): string {
  return createHash('sha256').update(`${hostname()}\0${dataFolder}`).digest('hex').slice(0, 32)
}

/** `keep` is what must be kept for the next start, if that changed. */
function chooseTokens(
  kept: Record<string, unknown> | null,
  host: string,
  env: NodeJS.ProcessEnv,
): { tokens: Tokens; keep: Tokens | null } {
  const given = { token: env['ASKBACK_TOKEN'], agentToken: env['ASKBACK_AGENT_TOKEN'] }
  if (!isLoopback(host) && !given.token && !kept) {
    throw new AskbackError(
      'invalid_request',
      `Others can reach ${host}: set ASKBACK_TOKEN and ASKBACK_AGENT_TOKEN first, or start once on 127.0.0.1 to have tokens made.`,
    )
  }
  const made = {
    token: text(kept?.['token']) ?? newToken('askback_person'),
    agentToken: text(kept?.['agentToken']) ?? newToken('askback_agents'),
  }
  const tokens = { token: given.token || made.token, agentToken: given.agentToken || made.agentToken }
  if (tokens.token === tokens.agentToken) {
    throw new AskbackError(
      'invalid_request',
      'ASKBACK_TOKEN and ASKBACK_AGENT_TOKEN are the same: an agent could answer its own requests.',
    )
  }
  const isNeeded = !given.token || !given.agentToken
  const isNew = made.token !== kept?.['token'] || made.agentToken !== kept['agentToken']
  return { tokens, keep: isNeeded && isNew ? made : null }
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
