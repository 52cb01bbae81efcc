import type { Clock, KvEntry, Store } from '@askback/core'
import { AskbackError, copyJson, type Actor, type AuditAct } from '@askback/protocol'
import { personCredential, type PersonCredential, hashOf, sameText } from './credential.js'

const PREFIX = { http: 'credential/token/', web: 'credential/cookie/' } as const
/** When a person who was logged in nowhere was last logged out everywhere. */
const LAST_LOGOUT = 'credential/logout/'
type Via = keyof typeof PREFIX

interface Kept {
  by: Actor
  at: number
  expiresAt?: number
  /** The hash of the second secret of a browser login, which only the page that logged in has. */
  proofHash?: string
  /** Identifies the owner's token at the time of the login: replacing that token ends the login. */
  ownerToken?: string
}

/** Tokens of named people and cookies of browsers, kept by their hash, and in memory for each request to find. */
export class KeptCredentials {
  readonly #store: Store
  readonly #clock: Clock
  readonly #isRevoked: (personId: string) => boolean
  readonly #found: Record<Via, Map<string, { kept: Kept; credential: PersonCredential }>> = {
    http: new Map(),
    web: new Map(),
  }
  /** Counts what this process writes, so that a list that was read before is not taken for newer. */
  #writes = 0

  private constructor(store: Store, clock: Clock, isRevoked: (personId: string) => boolean) {
    this.#store = store
    this.#clock = clock
    this.#isRevoked = isRevoked
  }

  static async load(
    store: Store,
    clock: Clock,
    { ownerTokens, isRevoked }: { ownerTokens: string[]; isRevoked: (personId: string) => boolean },
  ): Promise<KeptCredentials> {
    const kept = new KeptCredentials(store, clock, isRevoked)
    await kept.refresh()
    await kept.#revoke(
      'web',
      ({ proofHash, ownerToken }) =>
        !proofHash || (ownerToken !== undefined && !ownerTokens.includes(ownerToken)),
    )
    return kept
  }

  findToken(token: string): PersonCredential | null {
    return this.#find('http', token)?.credential ?? null
  }

  /** The login that a cookie names. That alone shows nothing: see `isProof`. */
  findLogin(cookie: string): PersonCredential | null {
    return this.#find('web', cookie)?.credential ?? null
  }

  isProof(cookie: string, proof: string): boolean {
    const proofHash = this.#find('web', cookie)?.kept.proofHash
    return proofHash !== undefined && sameText(hashOf(proof), proofHash)
  }

  /** Whether the credential with this key exists, has not expired, and its person is not revoked. */
  isCurrent(key: string, via: Via): boolean {
    return this.#current(via, key.slice(PREFIX[via].length)) !== null
  }

  async keep(via: Via, token: string, kept: Kept, act: AuditAct): Promise<void> {
    const key = PREFIX[via] + hashOf(token)
    const value = copyJson(kept)
    this.#writes++
    if (!(await this.#store.kv.put(key, value, null, act))) {
      throw new AskbackError('invalid_request', 'This token exists already.')
    }
    this.#writes++
    this.#remember(via, key, kept)
  }

  list(via: Via): Kept[] {
    return [...this.#found[via].values()].map(({ kept }) => kept)
  }

  /** All of one person. Returns the keys of what was revoked, so that open streams can be closed. */
  async revoke(personId: string, act?: AuditAct): Promise<string[]> {
    const isTheirs = ({ by }: Kept) => by.id === personId
    return [...(await this.#revoke('http', isTheirs, act)), ...(await this.#revoke('web', isTheirs))]
  }

  /** The browser logins of one person. */
  async revokeLogins(personId: string, act: AuditAct): Promise<string[]> {
    const keys = await this.#revoke('web', ({ by }) => by.id === personId, act)
    if (keys.length === 0) await this.#record(LAST_LOGOUT + personId, act)
    return keys
  }

  /** One browser login, by the key of its credential. */
  revokeLogin(key: string, act: AuditAct): Promise<string[]> {
    return this.#revoke('web', (_, credential) => credential.key === key, act)
  }

  #find(via: Via, token: string): { kept: Kept; credential: PersonCredential } | null {
    return this.#current(via, hashOf(token))
  }

  /** A revoked person's credentials end with the person's record, before each of them is deleted. */
  #current(via: Via, hash: string): { kept: Kept; credential: PersonCredential } | null {
    const found = this.#found[via].get(hash)
    if (!found || (found.kept.expiresAt ?? Infinity) <= this.#clock.now()) return null
    return this.#isRevoked(found.kept.by.id) ? null : found
  }

  /** `act` is recorded once, with the first that is deleted. */
  async #revoke(
    via: Via,
    isMeant: (kept: Kept, credential: PersonCredential) => boolean,
    act?: AuditAct,
  ): Promise<string[]> {
    const keys: string[] = []
    let unrecorded = act
    for (const [hash, { kept, credential }] of this.#found[via]) {
      if (!isMeant(kept, credential)) continue
      if (await this.#delete(PREFIX[via] + hash, unrecorded)) unrecorded = undefined
      this.#writes++
      this.#found[via].delete(hash)
      keys.push(credential.key)
    }
    return keys
  }

  /** Reads what other processes have made and ended. Returns the keys of those that are gone. */
  async refresh(): Promise<string[]> {
    const gone: string[] = []
    const expired: string[] = []
    for (const via of ['http', 'web'] as const) {
      const entries = await this.#list(via)
      const before = this.#found[via]
      this.#found[via] = new Map()
      const now = this.#clock.now()
      for (const { key, value } of entries) {
        // Whoever wrote it parsed it.
        const kept = value as unknown as Kept
        if ((kept.expiresAt ?? Infinity) > now) this.#remember(via, key, kept)
        else expired.push(key)
      }
      for (const [hash, { credential }] of before) if (!this.#found[via].has(hash)) gone.push(credential.key)
    }
    for (const key of expired) await this.#delete(key)
    return gone
  }

  /** Again if this process has written meanwhile: the list may or may not have that. */
  async #list(via: Via): Promise<KvEntry[]> {
    for (;;) {
      const writes = this.#writes
      const entries = await this.#store.kv.list(PREFIX[via])
      if (writes === this.#writes) return entries
    }
  }

  #remember(via: Via, key: string, kept: Kept): void {
    const credential = personCredential(kept.by, via, key)
    this.#found[via].set(key.slice(PREFIX[via].length), { kept, credential })
  }

  /** An act that deletes nothing: acts are written together with a record only. */
  async #record(key: string, act: AuditAct): Promise<void> {
    for (;;) {
      const entry = await this.#store.kv.get(key)
      if (await this.#store.kv.put(key, { at: act.at }, entry?.version ?? null, act)) return
    }
  }

  async #delete(key: string, act?: AuditAct): Promise<boolean> {
    const entry = await this.#store.kv.get(key)
    return entry !== null && this.#store.kv.put(key, null, entry.version, act)
  }
}
