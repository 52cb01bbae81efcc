import type { Caller, Clock, KvEntry, Store } from '@askback/core'
import { AskbackError, copyJson, type Actor, type AuditAct } from '@askback/protocol'
import { personCredential, type PersonCredential, hashOf, isSameText } from './credential.js'

const PREFIX = { http: 'credential/token/', web: 'credential/cookie/' } as const
/** Holds the audit act of a logout that ended no login. */
const LAST_LOGOUT = 'credential/logout/'
type CredentialVia = keyof typeof PREFIX

interface StoredCredential {
  by: Actor
  at: number
  expiresAt?: number
  /** The hash of the proof, the second secret of a browser login, which only the page that logged in has. */
  proofHash?: string
  /** A fingerprint of the first person's token at the time of the login: replacing that token ends the login. */
  ownerToken?: string
}

/** Tokens and browser logins of people: in the store by their hash, and all of them in memory, because each request looks one up. */
export class StoredCredentials {
  readonly #store: Store
  readonly #clock: Clock
  readonly #isRevoked: (personId: string) => boolean
  readonly #found: Record<
    CredentialVia,
    Map<string, { stored: StoredCredential; credential: PersonCredential }>
  > = {
    http: new Map(),
    web: new Map(),
  }
  /** Counts the writes of this process: a list that was read while one happened may lack it, and is read again. */
  #writes = 0
  #onExpiry: (() => void) | null = null
  #cancelExpiry = () => {}

  private constructor(store: Store, clock: Clock, isRevoked: (personId: string) => boolean) {
    this.#store = store
    this.#clock = clock
    this.#isRevoked = isRevoked
  }

  static async load(
    store: Store,
    clock: Clock,
    { ownerTokens, isRevoked }: { ownerTokens: string[]; isRevoked: (personId: string) => boolean },
  ): Promise<StoredCredentials> {
    const loaded = new StoredCredentials(store, clock, isRevoked)
    await loaded.refresh()
    await loaded.#revoke(
      'web',
      ({ proofHash, ownerToken }) =>
        !proofHash || (ownerToken !== undefined && !ownerTokens.includes(ownerToken)),
    )
    return loaded
  }

  findToken(token: string): PersonCredential | null {
    return this.#find('http', token)?.credential ?? null
  }

  /** The login that a cookie names. It is not proven yet: see `isProof`. */
  findLogin(cookie: string): PersonCredential | null {
    return this.#find('web', cookie)?.credential ?? null
  }

  isProof(cookie: string, proof: string): boolean {
    const proofHash = this.#find('web', cookie)?.stored.proofHash
    return proofHash !== undefined && isSameText(hashOf(proof), proofHash)
  }

  /** Whether the credential with this key exists, has not expired, and its person is not revoked. */
  isCurrent(key: string, via: CredentialVia): boolean {
    return this.#current(via, key.slice(PREFIX[via].length)) !== null
  }

  /** Calls back whenever a credential has expired, until the returned function is called. */
  watchExpiry(listener: () => void): () => void {
    this.#onExpiry = listener
    this.#scheduleExpiry()
    return () => {
      this.#onExpiry = null
      this.#cancelExpiry()
    }
  }

  async add(via: CredentialVia, token: string, added: StoredCredential, act: AuditAct): Promise<void> {
    const key = PREFIX[via] + hashOf(token)
    const value = copyJson(added)
    this.#writes++
    if (!(await this.#store.kv.put(key, value, null, act))) {
      throw new AskbackError('invalid_request', 'This token exists already.')
    }
    this.#writes++
    this.#cache(via, key, added)
    this.#scheduleExpiry()
  }

  list(via: CredentialVia): StoredCredential[] {
    return [...this.#found[via].values()].map(({ stored }) => stored)
  }

  /** Deletes all tokens and logins of a person. Returns their keys, so that open streams can be closed. */
  async revoke(personId: string, act?: AuditAct): Promise<string[]> {
    const isTheirs = ({ by }: StoredCredential) => by.id === personId
    return [...(await this.#revoke('http', isTheirs, act)), ...(await this.#revoke('web', isTheirs))]
  }

  /** Deletes the browser logins of a person. */
  async revokeLogins(personId: string, act: AuditAct): Promise<string[]> {
    const keys = await this.#revoke('web', ({ by }) => by.id === personId, act)
    if (keys.length === 0) await this.#record(LAST_LOGOUT + personId, act)
    return keys
  }

  /** Deletes one browser login, by the key of its credential. */
  revokeLogin(key: string, act: AuditAct): Promise<string[]> {
    return this.#revoke('web', (_, credential) => credential.key === key, act)
  }

  #find(
    via: CredentialVia,
    token: string,
  ): { stored: StoredCredential; credential: PersonCredential } | null {
    return this.#current(via, hashOf(token))
  }

  /** The credentials of a revoked person are invalid as soon as the person's record says so, before they are deleted. */
  #current(
    via: CredentialVia,
    hash: string,
  ): { stored: StoredCredential; credential: PersonCredential } | null {
    const found = this.#found[via].get(hash)
    if (!found || (found.stored.expiresAt ?? Infinity) <= this.#clock.now()) return null
    return this.#isRevoked(found.stored.by.id) ? null : found
  }

  /** `act` is written to the audit once, with the first that is deleted. */
  async #revoke(
    via: CredentialVia,
    matches: (stored: StoredCredential, credential: PersonCredential) => boolean,
    act?: AuditAct,
  ): Promise<string[]> {
    const keys: string[] = []
    let unwritten = act
    for (const [hash, { stored, credential }] of this.#found[via]) {
      if (!matches(stored, credential)) continue
      if (await this.#delete(PREFIX[via] + hash, unwritten)) unwritten = undefined
      this.#writes++
      this.#found[via].delete(hash)
      keys.push(credential.key)
    }
    return keys
  }

  /** Reads what other processes created and deleted. Returns the keys of those that are gone. */
  async refresh(): Promise<string[]> {
    const gone: string[] = []
    const expired: string[] = []
    for (const via of ['http', 'web'] as const) {
      const entries = await this.#list(via)
      const before = this.#found[via]
      this.#found[via] = new Map()
      const now = this.#clock.now()
      for (const { key, value } of entries) {
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `add` writes these entries
        const stored = value as unknown as StoredCredential
        if ((stored.expiresAt ?? Infinity) > now) this.#cache(via, key, stored)
        else expired.push(key)
      }
      for (const [hash, { credential }] of before) if (!this.#found[via].has(hash)) gone.push(credential.key)
    }
    for (const key of expired) await this.#delete(key)
    this.#scheduleExpiry()
    return gone
  }

  async #list(via: CredentialVia): Promise<KvEntry[]> {
    for (;;) {
      const writes = this.#writes
      const entries = await this.#store.kv.list(PREFIX[via])
      if (writes === this.#writes) return entries
    }
  }

  #cache(via: CredentialVia, key: string, stored: StoredCredential): void {
    const credential = personCredential(stored.by, via, key)
    this.#found[via].set(key.slice(PREFIX[via].length), { stored, credential })
  }

  #scheduleExpiry(): void {
    this.#cancelExpiry()
    if (!this.#onExpiry) return
    const next = this.list('web').reduce(
      (first, { expiresAt = Infinity }) => Math.min(first, expiresAt),
      Infinity,
    )
    if (next < Infinity) this.#cancelExpiry = this.#clock.alarm(next, this.#onExpiry)
  }

  /** Audit acts are written together with a key only, so one that deletes nothing needs a key of its own. */
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

export function auditAct(
  clock: Clock,
  act: AuditAct['act'],
  { by, via }: Caller,
  subject?: string,
): AuditAct {
  const actor = { ...(by && { by }), ...(via && { via }) }
  return { at: clock.now(), act, ...actor, ...(subject !== undefined && { subject }) }
}
