import type { Bus, Clock, Store } from '@askback/core'
import type { Actor } from '@askback/protocol'
import { hashOf, OUTSIDE_AGENTS, personCredential, type Credential } from './credential.js'
import type { ExternalRevocations } from './external-revocations.js'
import type { People } from './people.js'
import type { StoredCredentials } from './stored-credentials.js'

/*
 * How a gateway learns what other processes on the same store created and revoked. A message on the bus starts a refresh; because
 * the bus may lose messages, a shared store is also polled. Refreshes never overlap: one that is requested while another runs is
 * done after it.
 */

const DAY_MS = 24 * 3_600_000
const POLL_MS = 5000
const GATEWAY_TOKENS_PREFIX = 'credential/gateway/'
const GATEWAY_TOKENS_LIFETIME_MS = 30 * DAY_MS

/** Calls listeners in this process for what was revoked here or on another gateway. */
export class Revocations {
  readonly #keyListeners = new Set<(credentialKey: string) => void>()
  readonly #personListeners = new Set<(personId: string) => void>()

  onKey(listener: (credentialKey: string) => void): () => void {
    this.#keyListeners.add(listener)
    return () => this.#keyListeners.delete(listener)
  }

  onPerson(listener: (personId: string) => void): () => void {
    this.#personListeners.add(listener)
    return () => this.#personListeners.delete(listener)
  }

  publishKeys(keys: string[]): void {
    for (const key of keys) for (const listener of this.#keyListeners) listener(key)
  }

  publishPerson(personId: string): void {
    for (const listener of this.#personListeners) listener(personId)
  }
}

export interface GatewayTokens {
  token: string
  agentToken: string
}

export interface CredentialRefreshOptions {
  store: Store
  clock: Clock
  bus: Bus | undefined
  stored: StoredCredentials
  people: People
  revocations: Revocations
  external: ExternalRevocations
  owner: Actor
  /** Registers the tokens of this gateway again before they expire. */
  renewTokens: () => Promise<void>
  onError: (error: unknown) => void
}

export class CredentialRefresh {
  readonly #options: CredentialRefreshOptions
  /** By hash: the tokens of the other gateways on a shared store. */
  #gatewayTokens = new Map<string, Credential>()
  #renewAt: number
  #running: Promise<void> | null = null
  #isRequested = false
  #cancelPoll: (() => void) | null = null
  readonly #stopWatchingExpiry: () => void
  #isClosed = false

  constructor(options: CredentialRefreshOptions) {
    this.#options = options
    this.#renewAt = options.clock.now() + DAY_MS
    options.bus?.on(({ type }) => {
      if (type === 'credentials') void this.run()
    })
    // A refresh also ends what a login has open when the login expires.
    this.#stopWatchingExpiry = options.stored.watchExpiry(() => void this.run())
    if (options.store.shared) this.#poll()
  }

  findGatewayToken(hash: string): Credential | undefined {
    return this.#gatewayTokens.get(hash)
  }

  /** Resolves when everything that was in the store at the time of the call is known here. Errors go to `onError`. */
  run(): Promise<void> {
    this.#isRequested = true
    this.#running ??= this.#runWhileRequested()
      .catch(this.#options.onError)
      .finally(() => (this.#running = null))
    return this.#running
  }

  close(): void {
    this.#isClosed = true
    this.#cancelPoll?.()
    this.#stopWatchingExpiry()
  }

  async #runWhileRequested(): Promise<void> {
    const { store, people, stored, revocations, external } = this.#options
    while (this.#isRequested && !this.#isClosed) {
      this.#isRequested = false
      if (store.shared) await this.#refreshGatewayTokens()
      const revokedPeople = await people.refresh()
      const revokedKeys = await stored.refresh()
      for (const person of revokedPeople) {
        revocations.publishPerson(person)
        // The gateway that revoked them may have stopped before it deleted all of their credentials.
        revokedKeys.push(...(await stored.revoke(person)))
      }
      revocations.publishKeys([...revokedKeys, ...(await external.refresh())])
    }
  }

  async #refreshGatewayTokens(): Promise<void> {
    const { clock, owner, renewTokens } = this.#options
    if (clock.now() >= this.#renewAt) {
      await renewTokens()
      this.#renewAt = clock.now() + DAY_MS
    }
    const { tokens, agentTokens } = await registeredGatewayTokens(this.#options)
    const ownerCredential = personCredential(owner, 'http', owner.id)
    this.#gatewayTokens = new Map<string, Credential>([
      ...agentTokens.map((hash): [string, Credential] => [hash, OUTSIDE_AGENTS]),
      ...tokens.map((hash): [string, Credential] => [hash, ownerCredential]),
    ])
  }

  #poll(): void {
    if (this.#isClosed) return
    const { clock } = this.#options
    this.#cancelPoll = clock.alarm(clock.now() + POLL_MS, () => {
      void this.run().finally(() => this.#poll())
    })
  }
}

/**
 * Lets every gateway on a shared store accept the tokens that one of them created. Only hashes are stored. A gateway registers its
 * tokens again while it runs; those of a gateway that does not come back expire after 30 days.
 *
 * @param tokens - replace those that this gateway registered before; `null` only removes them
 * @internal
 */
export async function registerGatewayTokens(
  { store, clock }: { store: Store; clock: Clock },
  gatewayId: string,
  tokens: GatewayTokens | null,
): Promise<void> {
  const key = GATEWAY_TOKENS_PREFIX + gatewayId
  const hashes = tokens && { token: hashOf(tokens.token), agentToken: hashOf(tokens.agentToken) }
  for (;;) {
    const entry = await store.kv.get(key)
    const registered = hashes && { ...hashes, expiresAt: clock.now() + GATEWAY_TOKENS_LIFETIME_MS }
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
  const entries = (await store.kv.list(GATEWAY_TOKENS_PREFIX)).map(
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `registerGatewayTokens` writes these entries
    ({ value }) => value as unknown as GatewayTokens & { expiresAt: number },
  )
  const current = entries.filter(({ expiresAt }) => expiresAt > clock.now())
  return {
    tokens: current.map(({ token }) => token),
    agentTokens: current.map(({ agentToken }) => agentToken),
  }
}
