import type { Clock, Store } from '@askback/core'
import { hashOf } from './credential.js'

const PREFIX = 'credential/gateway/'
const LIFETIME_MS = 30 * 24 * 3_600_000

interface Registered {
  /** Hashes. The tokens themselves are with the gateway that made them. */
  token: string
  agentToken: string
  expiresAt: number
}

/**
 * Lets every gateway on a shared store take the tokens that one of them has made, though the store has their hashes only.
 * A gateway renews its entry while it runs. The tokens of one that never comes back end by themselves.
 *
 * @param tokens - replace those that this gateway registered before; `null` only removes them
 */
export async function registerGatewayTokens(
  { store, clock }: { store: Store; clock: Clock },
  gatewayId: string,
  tokens: { token: string; agentToken: string } | null,
): Promise<void> {
  const key = PREFIX + gatewayId
  const hashes = tokens && { token: hashOf(tokens.token), agentToken: hashOf(tokens.agentToken) }
  for (;;) {
    const entry = await store.kv.get(key)
    const registered = hashes && { ...hashes, expiresAt: clock.now() + LIFETIME_MS }
    if (!registered && !entry) return
    if (await store.kv.put(key, registered, entry?.version ?? null)) return
  }
}

/** The hashes of all tokens that are registered and not expired. */
export async function registeredGatewayTokens({
  store,
  clock,
}: {
  store: Store
  clock: Clock
}): Promise<{ tokens: string[]; agentTokens: string[] }> {
  const entries = (await store.kv.list(PREFIX)).map(({ value }) => value as unknown as Registered)
  const current = entries.filter(({ expiresAt }) => expiresAt > clock.now())
  return {
    tokens: current.map(({ token }) => token),
    agentTokens: current.map(({ agentToken }) => agentToken),
  }
}
