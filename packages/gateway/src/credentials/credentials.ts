import { systemClock, type Clock, type Store } from '@askback/core'
import { AskbackError, type Actor } from '@askback/protocol'
import { OUTSIDE_AGENTS, personCredential, type Credential } from './credential.js'
import { KeptCredentials } from './kept-credentials.js'
import { LoginCodes } from './login-codes.js'
import { hashOf, macOf, newToken } from './secrets.js'
import { findSession, sessionToken } from './session-tokens.js'

const SECRET_KEY = 'credential/secret'
const DAY_MS = 24 * 3_600_000
const MOST_HASHES = 1000

export interface CredentialsOptions {
  store: Store
  /** The first person, whose tokens are kept outside the store. */
  owner: { name: string; tokens: string[] }
  /** For agents that this gateway does not run. */
  agentToken: string
  loginDays?: number
  clock?: Clock
  onError: (error: unknown) => void
}

/** Who may come in, and by what. */
export class Credentials {
  readonly owner: Actor
  readonly cookieName: string
  readonly #secret: string
  readonly #kept: KeptCredentials
  readonly #codes: LoginCodes
  readonly #fixed = new Map<string, Credential>()
  readonly #hashes = new Map<string, string>()
  readonly #clock: Clock
  readonly #loginMs: number
  readonly #revoked = new Set<(credentialId: string) => void>()

  constructor(options: CredentialsOptions & { clock: Clock; secret: string; kept: KeptCredentials }) {
    const { owner, agentToken, secret, kept, clock, loginDays = 30 } = options
    this.owner = { id: OWNER, name: owner.name }
    this.#secret = secret
    this.#kept = kept
    this.#clock = clock
    this.#codes = new LoginCodes(clock)
    this.#loginMs = loginDays * DAY_MS
    // Browsers share cookies between the ports of a host, and with them between gateways on one machine.
    this.cookieName = `askback_${hashOf(secret).slice(0, 8)}`
    this.#fixed.set(hashOf(agentToken), OUTSIDE_AGENTS)
    for (const token of owner.tokens) this.#fixed.set(hashOf(token), personCredential(this.owner, 'http'))
  }

  findToken(token: string): Credential | null {
    return (
      this.#fixed.get(this.#hashOf(token)) ??
      this.#kept.find('http', token) ??
      findSession(this.#secret, token)
    )
  }

  findCookie(value: string): Credential | null {
    return this.#kept.find('web', value)
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
  newCode(seed?: string): string {
    return seed === undefined ? newToken('code') : `code_${macOf(this.#secret, `code ${seed}`)}`
  }

  keepCode(code: string, by: Actor): void {
    this.#codes.keep(code, by)
  }

  /** The value of a cookie for whoever brings a code that is good. */
  async logIn(code: string): Promise<{ cookie: string; maxAgeSeconds: number } | null> {
    const by = this.#codes.redeem(code)
    if (!by) return null
    const cookie = newToken('askback_web')
    const at = this.#clock.now()
    await this.#kept.keep('web', cookie, { by, at, expiresAt: at + this.#loginMs })
    return { cookie, maxAgeSeconds: Math.floor(this.#loginMs / 1000) }
  }

  /** The same `seed` makes the same token: a repeated request gets what the first one got, though only a hash is kept. */
  newToken(seed?: string): string {
    const prefix = 'askback_person'
    return seed === undefined ? newToken(prefix) : `${prefix}_${macOf(this.#secret, `token ${seed}`)}`
  }

  async keep(person: string, token: string): Promise<void> {
    if (person === OWNER) {
      throw new AskbackError('invalid_request', `"${OWNER}" is the first person, who has a token already.`)
    }
    if (this.#kept.find('http', token)) return
    await this.#kept.keep('http', token, { by: { id: person, name: person }, at: this.#clock.now() })
  }

  people(): { name: string; createdAt: number | null }[] {
    const named = this.#kept.list('http').map(({ by, at }) => ({ name: by.id, createdAt: at }))
    return [
      { name: OWNER, createdAt: null },
      ...named.sort((a, b) => a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1)),
    ]
  }

  /** All tokens of a person, and the browsers they are logged in with. */
  async revoke(person: string): Promise<void> {
    if (person === OWNER) {
      throw new AskbackError(
        'invalid_request',
        'The token of the first person is kept with the data: remove tokens.json and restart to get another.',
      )
    }
    if (!this.#kept.list('http').some(({ by }) => by.id === person)) {
      throw new AskbackError('not_found', `There is no token for ${JSON.stringify(person)}.`)
    }
    this.#codes.revoke(person)
    for (const id of await this.#kept.revoke(person)) for (const listener of this.#revoked) listener(id)
  }

  /** Told the ids of credentials that are no longer good. */
  onRevoked(listener: (credentialId: string) => void): () => void {
    this.#revoked.add(listener)
    return () => this.#revoked.delete(listener)
  }

  close(): void {
    this.#kept.close()
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

export async function createCredentials(options: CredentialsOptions): Promise<Credentials> {
  const { store, clock = systemClock, onError } = options
  const secret = await secretOf(store)
  const kept = await KeptCredentials.load(store, clock, onError)
  return new Credentials({ ...options, clock, secret, kept })
}

/** One for all gateways on a store; whoever comes first makes it. */
async function secretOf(store: Store): Promise<string> {
  await store.kv.put(SECRET_KEY, newToken('secret'), null)
  const entry = await store.kv.get(SECRET_KEY)
  if (typeof entry?.value === 'string') return entry.value
  throw new AskbackError('internal', 'The secret of this gateway cannot be read.')
}
