import { jumpAwareClock, type Bus, type Clock, type Caller, type Store } from '@askback/core'
import { AskbackError, type Actor } from '@askback/protocol'
import { externalKey } from '../access/external-login.js'
import { BrowserLogins } from './browser-logins.js'
import {
  findSessionToken,
  hashOf,
  macOf,
  createSecret,
  createSecretFrom,
  OUTSIDE_AGENTS,
  personCredential,
  sessionToken,
  type Credential,
  type SecretSeed,
} from './credential.js'
import {
  CredentialRefresh,
  registeredGatewayTokens,
  registerGatewayTokens,
  Revocations,
} from './credential-refresh.js'
import { ExternalRevocations } from './external-revocations.js'
import { People, personName } from './people.js'
import { auditAct, StoredCredentials } from './stored-credentials.js'

const SECRET_KEY = 'credential/secret'
const OWNER = 'owner'
const DAY_MS = 24 * 3_600_000
const MAX_CACHED_HASHES = 1000
/** A program that acts in its own name. */
const DIRECT: Caller = { via: 'direct' }

export interface CredentialsOptions {
  /** Tokens and logins are stored here, by their hashes. The caller closes it. */
  store: Store
  /**
   * The first person, whose tokens are not in the store. The first token is the permanent one: if it is replaced, all browsers of
   * this person are logged out.
   */
  owner: { name: string; tokens: string[] }
  /** The token of agents that this gateway does not run. */
  agentToken: string
  /**
   * How long a browser stays logged in, in days.
   * @default 30
   */
  loginDays?: number
  /**
   * On a shared store: whether the other gateways accept the tokens of this one, too. False for tokens that the operator sets on
   * every gateway and replaces everywhere. The id must stay the same across restarts.
   */
  gateway?: { id: string; sharesTokens: boolean }
  /** Reaches the other processes on the same store, so that a credential that is revoked here ends there at once. */
  bus?: Bus
  /** @default the store's clock, or else the system's */
  clock?: Clock
  /** Receives errors of the background refresh, which is retried. */
  onError: (error: unknown) => void
}

interface CredentialsParts {
  options: CredentialsOptions
  clock: Clock
  secret: string
  owner: Actor
  ownerToken: string
  stored: StoredCredentials
  people: People
}

/**
 * Finds out whose token or login a request carries, and creates and revokes them. Tokens of people are stored by their hash; tokens of
 * sessions are derived from a secret. The caller of `createCredentials` closes it.
 */
export class Credentials {
  readonly owner: Actor
  readonly cookieName: string
  /** @internal */
  readonly logins: BrowserLogins
  readonly #secret: string
  readonly #store: Store
  readonly #clock: Clock
  readonly #bus: Bus | undefined
  readonly #stored: StoredCredentials
  readonly #people: People
  readonly #revocations = new Revocations()
  readonly #refresh: CredentialRefresh
  /** By hash: tokens that are passed in at each start. */
  readonly #configured = new Map<string, Credential>()
  readonly #hashes = new Map<string, string>()
  readonly #external: ExternalRevocations

  /** @internal */
  constructor({ options, clock, secret, owner, ownerToken, stored, people }: CredentialsParts) {
    const { store, bus, agentToken, loginDays = 30, onError } = options
    this.owner = owner
    this.#secret = secret
    this.#store = store
    this.#clock = clock
    this.#bus = bus
    this.#stored = stored
    this.#people = people
    // Browsers share cookies between the ports of a host, so each gateway on a machine needs its own name.
    this.cookieName = `askback_${hashOf(secret).slice(0, 8)}`
    this.#configured.set(hashOf(agentToken), OUTSIDE_AGENTS)
    for (const token of options.owner.tokens)
      this.#configured.set(hashOf(token), personCredential(owner, 'http', OWNER))
    const shared = { clock, stored, people, revocations: this.#revocations, bus }
    this.#external = new ExternalRevocations(store, clock)
    this.logins = new BrowserLogins({
      ...shared,
      loginMs: loginDays * DAY_MS,
      owner: { id: OWNER, tokenFingerprint: ownerToken },
      isKnown: (personId) => this.#isKnown(personId),
    })
    const renewTokens = () => registerTokens(options, { store, clock })
    const external = this.#external
    this.#refresh = new CredentialRefresh({ ...shared, store, external, owner, renewTokens, onError })
  }

  /** @internal */
  findToken(token: string): Credential | null {
    const hash = this.#hashOf(token)
    return (
      this.#configured.get(hash) ??
      this.#refresh.findGatewayToken(hash) ??
      this.#stored.findToken(token) ??
      findSessionToken(this.#secret, token)
    )
  }

  /**
   * Whether a credential that was accepted earlier is still valid, as far as this process knows. A body or a long poll can take
   * minutes, in which the credential may be revoked or expire. Tokens of agents are not revoked: those of a deleted session end
   * with it, which the desk checks.
   *
   * @internal
   */
  isCurrent(credential: Credential): boolean {
    if (credential.external) return this.#external.isCurrent(credential, credential.external)
    if (credential.kind === 'agent' || credential.key === OWNER) return true
    return this.#stored.isCurrent(credential.key, credential.via)
  }

  /**
   * Whether a credential that can be revoked is still valid according to the store. A process that missed the message about a
   * revocation must not let its holder act, so this is checked before everything that they change.
   *
   * @internal
   */
  isCurrentInStore(credential: Credential): boolean | Promise<boolean> {
    const { key } = credential
    if (!this.isCurrent(credential)) return false
    if (!this.#store.shared || key === OWNER) return true
    if (credential.external) return this.#external.isCurrentInStore(credential, credential.external)
    if (credential.kind === 'agent') return true
    return Promise.all([this.#store.kv.get(key), this.#people.isRevokedInStore(credential.by.id)]).then(
      ([entry, isRevoked]) => {
        if (entry && !isRevoked) return true
        void this.refresh()
        return false
      },
    )
  }

  /** Whether this person may answer on a surface that has no credential of theirs, such as a chat. Asks the store. */
  async mayAct(personId: string): Promise<boolean> {
    return this.#isKnown(personId) && !(await this.#people.isRevokedInStore(personId))
  }

  /** The token for the agent of a session, and for the scripts in its shell. */
  sessionToken(sessionId: string): string {
    return sessionToken(this.#secret, sessionId)
  }

  /** A key to sign what this credential's client stores and sends back, such as the state of an MCP request. */
  stateKey(credentialId: string): string {
    return macOf(this.#secret, `state ${credentialId}`)
  }

  /** Creates a one-time code that logs a browser in as this person, at `/login?code=…`. It expires after 10 minutes. */
  createLoginCode(by: Actor): string {
    const code = this.logins.newCode()
    this.logins.addCode(code, by)
    return code
  }

  /** The person that a code would log in; `null` if it was used or has expired. The code stays unused. */
  personOfCode(code: string): Actor | null {
    return this.logins.personOfCode(code)
  }

  /** A new token for a person, which is valid after `keep`. The same seed gives the same token. */
  createToken(seed?: SecretSeed): string {
    return createSecretFrom(seed, 'askback_person', 'token')
  }

  /**
   * Stores the hash of a token for the person of this name, who is created if the name is free. Rejects with `invalid_request` for
   * a name that is reserved, revoked or looks like another one, and with `forbidden` for a token for somebody else.
   */
  async addToken(name: string, token: string, caller: Caller = DIRECT): Promise<Actor> {
    const by = await this.#people.claim(name, caller.by, OWNER)
    if (this.#stored.findToken(token)) return by
    const act = auditAct(this.#clock, 'token_created', caller, by.id)
    await this.#stored.add('http', token, { by, at: this.#clock.now() }, act)
    this.#bus?.publish({ type: 'credentials' })
    return by
  }

  /** Everybody who has a token, the first person first. */
  listPeople(): { name: string; createdAt: number | null }[] {
    const named = this.#stored
      .list('http')
      .filter(({ by }) => !this.#people.isRevoked(by.id))
      .map(({ by, at }) => ({ name: by.id, createdAt: at }))
    return [
      { name: OWNER, createdAt: null },
      ...named.sort((a, b) => a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1)),
    ]
  }

  /** Revokes a person with all their tokens and logins. Rejects with `not_found` if the name has no token. */
  async revoke(name: string, caller: Caller = DIRECT): Promise<void> {
    const person = personName(name)
    if (person === OWNER) {
      throw new AskbackError(
        'invalid_request',
        'The token of the first person is kept with the data: remove tokens.json and restart to get another.',
      )
    }
    // The person's record is written first: from then on none of their credentials is valid, even if deleting them fails.
    const act = auditAct(this.#clock, 'token_revoked', caller, person)
    const isRevoked = await this.#people.revoke(person, act)
    if (!isRevoked && !this.#stored.list('http').some(({ by }) => by.id === person)) {
      throw new AskbackError('not_found', `There is no token for ${JSON.stringify(person)}.`)
    }
    const keys = await this.#stored.revoke(person, isRevoked ? undefined : act)
    this.#revocations.publishPerson(person)
    this.#revocations.publishKeys(keys)
    this.#bus?.publish({ type: 'credentials' })
  }

  /**
   * Ends the streams, sockets and long polls of an actor whom the embedding program has signed in, for example when they sign out, on
   * every gateway of the store. Requests that began before do not take effect. In this process it counts at once, also if the store
   * cannot be written and this rejects.
   */
  async revokeExternal(actorId: string): Promise<void> {
    const stored = this.#external.revoke(actorId)
    this.#revocations.publishKeys([externalKey(actorId)])
    await stored
    this.#bus?.publish({ type: 'credentials' })
  }

  /** Whether this is the first person's own token or login, which may do more than those of other people. */
  isOwner(credential: Credential): boolean {
    return !credential.external && credential.kind === 'person' && credential.by.id === OWNER
  }

  /** Calls back with the key of each credential that is revoked, on this gateway or another. */
  onRevoked(listener: (credentialKey: string) => void): () => void {
    return this.#revocations.onKey(listener)
  }

  /** Calls back with the id of each person who is revoked, on this gateway or another. */
  onPersonRevoked(listener: (personId: string) => void): () => void {
    return this.#revocations.onPerson(listener)
  }

  /** Reads what other processes created and revoked. */
  refresh(): Promise<void> {
    return this.#refresh.run()
  }

  /** Stops the background refresh. The store stays open. */
  close(): void {
    this.#refresh.close()
  }

  #isKnown(personId: string): boolean {
    return this.listPeople().some(({ name }) => name === personId)
  }

  /** The same few tokens come with every request, so their hashes are cached. */
  #hashOf(token: string): string {
    const known = this.#hashes.get(token)
    if (known !== undefined) return known
    if (this.#hashes.size >= MAX_CACHED_HASHES) this.#hashes.clear()
    const hash = hashOf(token)
    this.#hashes.set(token, hash)
    return hash
  }
}

/**
 * Loads the tokens and logins of a store. Rejects if the store cannot be read. The caller closes both the credentials and the store.
 *
 * @example
 * const credentials = await createCredentials({
 *   store,
 *   owner: { name: 'Ada', tokens: [token] },
 *   agentToken,
 *   onError: console.error,
 * })
 * const openUrl = `${url}/login?code=${credentials.createLoginCode(credentials.owner)}`
 */
export async function createCredentials(options: CredentialsOptions): Promise<Credentials> {
  const { store, clock = store.clock ?? jumpAwareClock } = options
  const secret = await readSecret(store)
  const fingerprint = (hash: string) => macOf(secret, `owner ${hash}`)
  const ownerToken = fingerprint(hashOf(options.owner.tokens[0] ?? ''))
  const ports = { store, clock }
  await registerTokens(options, ports)
  const registered = store.shared ? (await registeredGatewayTokens(ports)).tokens : []
  const people = new People(store, clock, [OWNER, options.owner.name])
  await people.refresh()
  const ownerTokens = [ownerToken, ...registered.map(fingerprint)]
  const stored = await StoredCredentials.load(store, clock, {
    ownerTokens,
    isRevoked: (personId) => people.isRevoked(personId),
  })
  for (const { by, at } of stored.list('http')) await people.addMissing(by.id, at)
  const owner = { id: OWNER, name: options.owner.name }
  const credentials = new Credentials({ options, clock, secret, owner, ownerToken, stored, people })
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

/** All gateways on a store share one secret, which the first of them creates. */
async function readSecret(store: Store): Promise<string> {
  await store.kv.put(SECRET_KEY, createSecret('secret'), null)
  const entry = await store.kv.get(SECRET_KEY)
  if (typeof entry?.value === 'string') return entry.value
  throw new AskbackError('internal', 'The secret of this gateway cannot be read.')
}
