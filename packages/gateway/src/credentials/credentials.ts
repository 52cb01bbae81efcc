import { jumpAwareClock, type Bus, type Clock, type Origin, type Store } from '@askback/core'
import { AskbackError, type Actor, type AuditAct } from '@askback/protocol'
import {
  OUTSIDE_AGENTS,
  personCredential,
  type Credential,
  type PersonCredential,
  hashOf,
  macOf,
  newToken,
  findSession,
  sessionToken,
} from './credential.js'
import { registeredGatewayTokens, registerGatewayTokens } from './gateway-tokens.js'
import { LoginCodes } from './login-codes.js'
import { People, personName } from './people.js'
import { KeptCredentials } from './stored-credentials.js'

const SECRET_KEY = 'credential/secret'
const DAY_MS = 24 * 3_600_000
const MOST_HASHES = 1000
/** How soon a gateway that shares its store learns what another has made or revoked, if no message comes. */
const REFRESH_MS = 5000

export interface CredentialsOptions {
  store: Store
  /**
   * The first person, whose tokens are kept outside the store. The first token is the lasting one: with another in its
   * place, browsers that logged in before are logged out.
   */
  owner: { name: string; tokens: string[] }
  /** For agents that this gateway does not run. */
  agentToken: string
  loginDays?: number
  /**
   * On a shared store: whether the other gateways take the tokens of this one, too. Not those that the operator gives to
   * each of them and replaces everywhere. The id stays the same over restarts.
   */
  gateway?: { id: string; sharesTokens: boolean }
  /** To the other processes on the same store: a credential that ends here ends there at once. */
  bus?: Bus
  clock?: Clock
  onError: (error: unknown) => void
}

/** What a repeated request has in common with the first. Its secret is the caller's own, which no store has. */
export interface Seed {
  secret: string
  key: string
}

export interface BrowserLogin {
  person: Actor
  cookie: string
  /** The half of the login that the page keeps in its own origin. */
  proof: string
  maxAgeSeconds: number
}

/** Who may come in, and by what. */
export class Credentials {
  readonly owner: Actor
  readonly cookieName: string
  readonly #secret: string
  readonly #kept: KeptCredentials
  readonly #codes: LoginCodes
  readonly #fixed = new Map<string, Credential>()
  /** By hash: the tokens of the other gateways on a shared store. */
  #registered = new Map<string, Credential>()
  #renewAt: number
  readonly #options: CredentialsOptions
  readonly #hashes = new Map<string, string>()
  readonly #clock: Clock
  readonly #loginMs: number
  readonly #revoked = new Set<(credentialKey: string) => void>()
  readonly #peopleRevoked = new Set<(personId: string) => void>()
  readonly #store: Store
  readonly #people: People
  readonly #bus: Bus | undefined
  readonly #onError: (error: unknown) => void
  #refreshing: Promise<void> | null = null
  #refreshAgain = false
  #disarm: (() => void) | null = null
  #closed = false
  readonly #ownerToken: string

  constructor(
    options: CredentialsOptions & {
      clock: Clock
      secret: string
      ownerToken: string
      kept: KeptCredentials
      people: People
    },
  ) {
    const { owner, agentToken, secret, ownerToken, kept, people, clock, loginDays = 30 } = options
    this.#store = options.store
    this.#options = options
    this.#renewAt = clock.now() + DAY_MS
    this.#people = people
    this.#bus = options.bus
    this.#onError = options.onError
    this.owner = { id: OWNER, name: owner.name }
    this.#secret = secret
    this.#ownerToken = ownerToken
    this.#kept = kept
    this.#clock = clock
    this.#codes = new LoginCodes(clock)
    this.#loginMs = loginDays * DAY_MS
    // Browsers share cookies between the ports of a host, and with them between gateways on one machine.
    this.cookieName = `askback_${hashOf(secret).slice(0, 8)}`
    this.#fixed.set(hashOf(agentToken), OUTSIDE_AGENTS)
    for (const token of owner.tokens)
      this.#fixed.set(hashOf(token), personCredential(this.owner, 'http', OWNER))
    options.bus?.on(({ type }) => {
      if (type === 'credentials') void this.refresh()
    })
    if (options.store.shared) this.#keepFresh()
  }

  findToken(token: string): Credential | null {
    return (
      this.#fixed.get(this.#hashOf(token)) ??
      this.#registered.get(this.#hashOf(token)) ??
      this.#unlessRevoked(this.#kept.findToken(token)) ??
      findSession(this.#secret, token)
    )
  }

  /** The login that a cookie names. Cookies reach every port of this host, so it counts with its proof only. */
  findLogin(cookie: string): PersonCredential | null {
    return this.#unlessRevoked(this.#kept.findLogin(cookie))
  }

  isProof(cookie: string, proof: string): boolean {
    return this.#kept.isProof(cookie, proof)
  }

  /**
   * Whether a credential that was accepted earlier is still valid, as far as this process knows. A body or a long poll
   * can take minutes, in which its sender may be revoked, logged out or expire. Agents' tokens are not revoked: those of
   * a deleted session end with it, which the desk checks.
   */
  isCurrent(credential: Credential): boolean {
    if (credential.kind === 'agent' || credential.key === OWNER) return true
    return this.#kept.isCurrent(credential.key, credential.via)
  }

  /**
   * Whether a person's credential still counts, by the store itself. A process that missed the message about a revocation
   * must not let a revoked person act, so this is asked before everything that a person changes.
   */
  isStillGood(credential: PersonCredential): boolean | Promise<boolean> {
    const { key, by } = credential
    if (!this.isCurrent(credential)) return false
    if (!this.#store.shared || key === OWNER) return true
    return Promise.all([this.#store.kv.get(key), this.#people.isRevokedInStore(by.id)]).then(
      ([entry, isRevoked]) => {
        if (entry && !isRevoked) return true
        void this.refresh()
        return false
      },
    )
  }

  /** Whether this person may answer, on surfaces that have no credential to show. Asks the store. */
  async mayAct(personId: string): Promise<boolean> {
    return this.#isKnown(personId) && !(await this.#people.isRevokedInStore(personId))
  }

  /** For the agent that runs this session, and the scripts in its shell. */
  sessionToken(sessionId: string): string {
    return sessionToken(this.#secret, sessionId)
  }

  loginCode(by: Actor): string {
    const code = this.newCode()
    this.keepCode(code, by)
    return code
  }

  /** The same `seed` makes the same code, as with tokens. */
  newCode(seed?: Seed): string {
    return seed === undefined ? newToken('code') : `code_${macOf(seed.secret, `code ${seed.key}`)}`
  }

  keepCode(code: string, by: Actor): void {
    this.#codes.keep(code, by)
  }

  /** Whom a code would log in. It stays unused. */
  personOfCode(code: string): Actor | null {
    return this.#codes.peek(code)
  }

  /** Exchanges a one-time code for a browser login; `null` if the code is used, too old or not from here. */
  async logIn(code: string): Promise<BrowserLogin | null> {
    const person = this.#codes.redeem(code)
    if (!person || (await this.#people.isRevokedInStore(person.id))) return null
    const [cookie, proof] = [newToken('askback_web'), newToken('proof')]
    const at = this.#clock.now()
    const login = {
      by: person,
      at,
      expiresAt: at + this.#loginMs,
      proofHash: hashOf(proof),
      ...(person.id === OWNER && { ownerToken: this.#ownerToken }),
    }
    await this.#kept.keep('web', cookie, login, this.#act('login', { by: person, via: 'web' }))
    this.#bus?.publish({ type: 'credentials' })
    return { person, cookie, proof, maxAgeSeconds: Math.floor(this.#loginMs / 1000) }
  }

  /** Ends one browser login, and closes what it has open. */
  async logOut({ key, by, via }: PersonCredential): Promise<void> {
    this.#tellRevoked(await this.#kept.revokeLogin(key, this.#act('logout', { by, via })))
  }

  /** Ends all browser logins of a person, and the links that would log in more. Tokens stay. */
  async logOutEverywhere(personId: string, origin: Origin = DIRECT): Promise<void> {
    if (!this.#isKnown(personId)) {
      throw new AskbackError('not_found', `There is no person ${JSON.stringify(personId)}.`)
    }
    this.#codes.revoke(personId)
    this.#tellRevoked(await this.#kept.revokeLogins(personId, this.#act('logout', origin, personId)))
  }

  /** The same `seed` makes the same token: a repeated request gets what the first one got, though only a hash is kept. */
  newToken(seed?: Seed): string {
    const prefix = 'askback_person'
    return seed === undefined ? newToken(prefix) : `${prefix}_${macOf(seed.secret, `token ${seed.key}`)}`
  }

  /** Makes the person too, if the name is free. Returns who it is for. */
  async keep(name: string, token: string, origin: Origin = DIRECT): Promise<Actor> {
    const by = await this.#people.claim(name, origin.by, OWNER)
    if (this.#kept.findToken(token)) return by
    const kept = { by, at: this.#clock.now() }
    await this.#kept.keep('http', token, kept, this.#act('token_created', origin, by.id))
    this.#bus?.publish({ type: 'credentials' })
    return by
  }

  people(): { name: string; createdAt: number | null }[] {
    const named = this.#kept
      .list('http')
      .filter(({ by }) => !this.#people.isRevoked(by.id))
      .map(({ by, at }) => ({ name: by.id, createdAt: at }))
    return [
      { name: OWNER, createdAt: null },
      ...named.sort((a, b) => a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1)),
    ]
  }

  /** All tokens of a person, and the browsers they are logged in with. */
  async revoke(name: string, origin: Origin = DIRECT): Promise<void> {
    const person = personName(name)
    if (person === OWNER) {
      throw new AskbackError(
        'invalid_request',
        'The token of the first person is kept with the data: remove tokens.json and restart to get another.',
      )
    }
    // Durable first, in one write: whatever else of this person is still there counts for nothing from here on.
    const act = this.#act('token_revoked', origin, person)
    const isRevoked = await this.#people.revoke(person, act)
    if (!isRevoked && !this.#kept.list('http').some(({ by }) => by.id === person)) {
      throw new AskbackError('not_found', `There is no token for ${JSON.stringify(person)}.`)
    }
    const keys = await this.#kept.revoke(person, isRevoked ? undefined : act)
    this.#personEnded(person)
    this.#tellRevoked(keys)
  }

  /** Calls back with the key of each credential that is revoked. */
  onRevoked(listener: (credentialKey: string) => void): () => void {
    this.#revoked.add(listener)
    return () => this.#revoked.delete(listener)
  }

  /** Calls back with each person who is revoked, on this gateway or another. */
  onPersonRevoked(listener: (personId: string) => void): () => void {
    this.#peopleRevoked.add(listener)
    return () => this.#peopleRevoked.delete(listener)
  }

  /** Takes over what other processes have made and revoked. */
  refresh(): Promise<void> {
    this.#refreshAgain = true
    this.#refreshing ??= this.#refreshAll()
      .catch(this.#onError)
      .finally(() => (this.#refreshing = null))
    return this.#refreshing
  }

  close(): void {
    this.#closed = true
    this.#disarm?.()
  }

  async #refreshAll(): Promise<void> {
    while (this.#refreshAgain && !this.#closed) {
      this.#refreshAgain = false
      if (this.#store.shared) await this.#refreshRegistered()
      const people = await this.#people.refresh()
      const keys = await this.#kept.refresh()
      for (const person of people) {
        this.#personEnded(person)
        // Whoever revoked them may have stopped before all of this was deleted.
        keys.push(...(await this.#kept.revoke(person)))
      }
      this.#closeRevoked(keys)
    }
  }

  async #refreshRegistered(): Promise<void> {
    const ports = { store: this.#store, clock: this.#clock }
    if (this.#clock.now() >= this.#renewAt) {
      await registerTokens(this.#options, ports)
      this.#renewAt = this.#clock.now() + DAY_MS
    }
    const { tokens, agentTokens } = await registeredGatewayTokens(ports)
    const ownerCredential = personCredential(this.owner, 'http', OWNER)
    this.#registered = new Map<string, Credential>([
      ...agentTokens.map((hash): [string, Credential] => [hash, OUTSIDE_AGENTS]),
      ...tokens.map((hash): [string, Credential] => [hash, ownerCredential]),
    ])
  }

  /** Backs up the bus, which may lose a message. */
  #keepFresh(): void {
    if (this.#closed) return
    this.#disarm = this.#clock.alarm(this.#clock.now() + REFRESH_MS, () => {
      void this.refresh().finally(() => this.#keepFresh())
    })
  }

  /** A token or login of a revoked person can still be there, or be made in the moment in which they are revoked. */
  #unlessRevoked(credential: PersonCredential | null): PersonCredential | null {
    return credential && this.#people.isRevoked(credential.by.id) ? null : credential
  }

  #isKnown(personId: string): boolean {
    return this.people().some(({ name }) => name === personId)
  }

  #personEnded(personId: string): void {
    this.#codes.revoke(personId)
    for (const listener of this.#peopleRevoked) listener(personId)
  }

  #tellRevoked(keys: string[]): void {
    this.#closeRevoked(keys)
    this.#bus?.publish({ type: 'credentials' })
  }

  #closeRevoked(keys: string[]): void {
    for (const key of keys) for (const listener of this.#revoked) listener(key)
  }

  #act(act: AuditAct['act'], { by, via }: Origin, subject?: string): AuditAct {
    const who = { ...(by && { by }), ...(via && { via }) }
    return { at: this.#clock.now(), act, ...who, ...(subject !== undefined && { subject }) }
  }

  /** The same few tokens come with every request. */
  #hashOf(token: string): string {
    const known = this.#hashes.get(token)
    if (known !== undefined) return known
    if (this.#hashes.size >= MOST_HASHES) this.#hashes.clear()
    const hash = hashOf(token)
    this.#hashes.set(token, hash)
    return hash
  }
}

const OWNER = 'owner'
/** Of a program that calls these methods in its own name. */
const DIRECT: Origin = { via: 'direct' }

export async function createCredentials(options: CredentialsOptions): Promise<Credentials> {
  const { store, owner, clock = store.clock ?? jumpAwareClock } = options
  const secret = await secretOf(store)
  const fingerprint = (hash: string) => macOf(secret, `owner ${hash}`)
  const ownerToken = fingerprint(hashOf(owner.tokens[0] ?? ''))
  const ports = { store, clock }
  await registerTokens(options, ports)
  const registered = store.shared ? (await registeredGatewayTokens(ports)).tokens : []
  const people = new People(store, clock, [OWNER, owner.name])
  await people.refresh()
  const ownerTokens = [ownerToken, ...registered.map(fingerprint)]
  const kept = await KeptCredentials.load(store, clock, {
    ownerTokens,
    isRevoked: (personId) => people.isRevoked(personId),
  })
  for (const { by, at } of kept.list('http')) await people.adopt(by.id, at)
  const credentials = new Credentials({ ...options, clock, secret, ownerToken, kept, people })
  await credentials.refresh()
  options.bus?.publish({ type: 'credentials' })
  return credentials
}

async function registerTokens(
  { gateway, owner, agentToken }: CredentialsOptions,
  ports: { store: Store; clock: Clock },
): Promise<void> {
  if (!gateway || !ports.store.shared) return
  const tokens = { token: owner.tokens[0] ?? '', agentToken }
  await registerGatewayTokens(ports, gateway.id, gateway.sharesTokens ? tokens : null)
}

/** One for all gateways on a store; whoever comes first makes it. */
async function secretOf(store: Store): Promise<string> {
  await store.kv.put(SECRET_KEY, newToken('secret'), null)
  const entry = await store.kv.get(SECRET_KEY)
  if (typeof entry?.value === 'string') return entry.value
  throw new AskbackError('internal', 'The secret of this gateway cannot be read.')
}
