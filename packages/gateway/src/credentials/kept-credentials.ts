import type { Clock, Store } from '@askback/core'
import { AskbackError, copyJson, type Actor } from '@askback/protocol'
import { personCredential, type PersonCredential } from './credential.js'
import { hashOf } from './secrets.js'

const PREFIX = { http: 'credential/token/', web: 'credential/cookie/' } as const
/** How soon a gateway that shares its store learns what another has made or revoked. */
const REFRESH_MS = 5000

type Via = keyof typeof PREFIX

interface Kept {
  by: Actor
  at: number
  expiresAt?: number
}

/** Tokens of named people and cookies of browsers, kept by their hash, and in memory for each request to find. */
export class KeptCredentials {
  readonly #store: Store
  readonly #clock: Clock
  readonly #found: Record<Via, Map<string, { kept: Kept; credential: PersonCredential }>> = {
    http: new Map(),
    web: new Map(),
  }
  #disarm: (() => void) | null = null
  #closed = false

  private constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  static async load(store: Store, clock: Clock, onError: (error: unknown) => void): Promise<KeptCredentials> {
    const kept = new KeptCredentials(store, clock)
    await kept.#refresh()
    if (store.shared) kept.#keepFresh(onError)
    return kept
  }

  find(via: Via, token: string): PersonCredential | null {
    const found = this.#found[via].get(hashOf(token))
    if (!found || (found.kept.expiresAt ?? Infinity) <= this.#clock.now()) return null
    return found.credential
  }

  async keep(via: Via, token: string, kept: Kept): Promise<void> {
    const key = PREFIX[via] + hashOf(token)
    const value = copyJson(kept)
    if (!(await this.#store.kv.put(key, value, null))) {
      throw new AskbackError('invalid_request', 'This token exists already.')
    }
    this.#remember(via, key, kept)
  }

  list(via: Via): Kept[] {
    return [...this.#found[via].values()].map(({ kept }) => kept)
  }

  /** Of one person, by the id of the credential: whoever streams with it is to be cut. */
  async revoke(personId: string): Promise<string[]> {
    const revoked = new Set<string>()
    for (const via of ['http', 'web'] as const) {
      for (const [hash, { kept, credential }] of this.#found[via]) {
        if (kept.by.id !== personId) continue
        await this.#delete(PREFIX[via] + hash)
        this.#found[via].delete(hash)
        revoked.add(credential.id)
      }
    }
    return [...revoked]
  }

  close(): void {
    this.#closed = true
    this.#disarm?.()
  }

  async #refresh(): Promise<void> {
    const now = this.#clock.now()
    for (const via of ['http', 'web'] as const) {
      const entries = await this.#store.kv.list(PREFIX[via])
      const kept = entries.map(({ key, value }) => ({ key, kept: value as unknown as Kept }))
      const isOver = (entry: { kept: Kept }) => (entry.kept.expiresAt ?? Infinity) <= now
      this.#found[via].clear()
      for (const entry of kept) if (!isOver(entry)) this.#remember(via, entry.key, entry.kept)
      for (const { key } of kept.filter(isOver)) await this.#delete(key)
    }
  }

  #keepFresh(onError: (error: unknown) => void): void {
    if (this.#closed) return
    this.#disarm = this.#clock.alarm(this.#clock.now() + REFRESH_MS, () => {
      this.#refresh()
        .catch(onError)
        .finally(() => this.#keepFresh(onError))
    })
  }

  #remember(via: Via, key: string, kept: Kept): void {
    this.#found[via].set(key.slice(PREFIX[via].length), {
      kept,
      credential: personCredential(kept.by, via),
    })
  }

  async #delete(key: string): Promise<void> {
    const entry = await this.#store.kv.get(key)
    if (entry) await this.#store.kv.put(key, null, entry.version)
  }
}
