import type { Clock, Store } from '@askback/core'
import { externalKey } from '../access/external-login.js'
import { hashOf, type Credential, type ExternalActor } from './credential.js'

/*
 * Actors whom the embedding program has signed in have no credential here that could be deleted. A revocation is a time instead: what
 * was authenticated before it is over, and what comes later was allowed again by the embedder. It is stored, so that every
 * gateway on the same store ends the streams of the actor.
 */

const PREFIX = 'credential/external/'
/** For gateways that were cut off from the store for a while. No request takes longer, and streams end when this is read. */
const LIFETIME_MS = 24 * 3_600_000

interface Revocation {
  actorId: string
  at: number
}

export class ExternalRevocations {
  readonly #store: Store
  readonly #clock: Clock
  /** When each was revoked, by the key of their credentials. */
  readonly #revokedAt = new Map<string, number>()

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** As far as this process knows. */
  isCurrent({ key }: Credential, { at }: ExternalActor): boolean {
    return (this.#revokedAt.get(key) ?? 0) <= at
  }

  /** The same by the store, for a process that may have missed a message. */
  async isCurrentInStore(credential: Credential, external: ExternalActor): Promise<boolean> {
    const entry = await this.#store.kv.get(entryKey(external.actor.id))
    return this.isCurrent(credential, external) && (!entry || revocationIn(entry.value).at <= external.at)
  }

  /** It counts in this process at once, and elsewhere when this resolves. */
  async revoke(actorId: string): Promise<void> {
    // A request that was authenticated in this millisecond is over, too.
    const at = this.#clock.now() + 1
    this.#revokedAt.set(externalKey(actorId), at)
    const key = entryKey(actorId)
    for (;;) {
      const entry = await this.#store.kv.get(key)
      if (entry && revocationIn(entry.value).at >= at) return
      if (await this.#store.kv.put(key, { actorId, at }, entry?.version ?? null)) return
    }
  }

  /** Reads what other processes revoked. Returns the keys of the credentials that are over since the last call. */
  async refresh(): Promise<string[]> {
    const oldest = this.#clock.now() - LIFETIME_MS
    for (const [key, at] of this.#revokedAt) if (at < oldest) this.#revokedAt.delete(key)
    const revoked: string[] = []
    for (const { key: stored, value, version } of await this.#store.kv.list(PREFIX)) {
      const { actorId, at } = revocationIn(value)
      if (at < oldest) {
        await this.#store.kv.put(stored, null, version)
        continue
      }
      const key = externalKey(actorId)
      if ((this.#revokedAt.get(key) ?? 0) >= at) continue
      this.#revokedAt.set(key, at)
      revoked.push(key)
    }
    return revoked
  }
}

function entryKey(actorId: string): string {
  return PREFIX + hashOf(actorId)
}

function revocationIn(value: unknown): Revocation {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `revoke` writes these entries
  return value as Revocation
}
