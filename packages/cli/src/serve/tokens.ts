import type { Store } from '@askback/core'
import { newToken } from '@askback/gateway'
import { AskbackError } from '@askback/protocol'
import { join } from 'node:path'
import { readPrivate, writePrivate } from '../private-file.js'
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
  const path = join(dataFolder, 'tokens.json')
  const { tokens, keep } = chooseTokens(readPrivate(path), host, env)
  if (keep) writePrivate(path, { ...keep })
  return tokens
}

/** Gateways that one person reaches under one name need the same: they are kept with the data that they share. */
export async function sharedTokens(store: Store, host: string, env: NodeJS.ProcessEnv): Promise<Tokens> {
  for (;;) {
    const entry = await store.kv.get(TOKENS_KEY)
    const { tokens, keep } = chooseTokens((entry?.value ?? null) as Record<string, unknown> | null, host, env)
    if (!keep || (await store.kv.put(TOKENS_KEY, { ...keep }, entry?.version ?? null))) return tokens
  }
}

export const TOKENS_KEY = 'tokens'

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
