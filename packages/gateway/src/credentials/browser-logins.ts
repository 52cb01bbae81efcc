import type { Bus, Caller, Clock } from '@askback/core'
import { AskbackError, type Actor } from '@askback/protocol'
import {
  hashOf,
  createSecret,
  createSecretFrom,
  type PersonCredential,
  type SecretSeed,
} from './credential.js'
import type { Revocations } from './credential-refresh.js'
import type { People } from './people.js'
import { auditAct, type StoredCredentials } from './stored-credentials.js'

/*
 * A browser logs in with a one-time code from a link, so that no token is ever in an address. It gets a cookie and a proof. Browsers
 * send cookies to every port of a host, so another program on this machine may see the cookie; the proof is stored by the page in its
 * own origin, and the login is valid with both only.
 */

const CODE_LIFETIME_MS = 10 * 60_000

export interface BrowserLoginSecrets {
  person: Actor
  cookie: string
  /** The half of the login that the page stores in its own origin. */
  proof: string
  maxAgeSeconds: number
}

export interface BrowserLoginsOptions {
  clock: Clock
  stored: StoredCredentials
  people: People
  revocations: Revocations
  bus: Bus | undefined
  loginMs: number
  /** The first person, and a fingerprint of their token: logins end when that token is replaced. */
  owner: { id: string; tokenFingerprint: string }
  /** Whether a person exists and is not revoked. */
  isKnown: (personId: string) => boolean
}

export class BrowserLogins {
  readonly #options: BrowserLoginsOptions
  readonly #codes: LoginCodes

  constructor(options: BrowserLoginsOptions) {
    this.#options = options
    this.#codes = new LoginCodes(options.clock)
    options.revocations.onPerson((personId) => this.#codes.revoke(personId))
  }

  /** The login that a cookie names. It is not proven yet: see `isProof`. */
  find(cookie: string): PersonCredential | null {
    return this.#options.stored.findLogin(cookie)
  }

  isProof(cookie: string, proof: string): boolean {
    return this.#options.stored.isProof(cookie, proof)
  }

  newCode(seed?: SecretSeed): string {
    return createSecretFrom(seed, 'code', 'code')
  }

  addCode(code: string, by: Actor): void {
    this.#codes.add(code, by)
  }

  /** The person that a code would log in. The code stays unused. */
  personOfCode(code: string): Actor | null {
    return this.#codes.personOf(code)
  }

  /** Exchanges a one-time code for a login; `null` if the code was used, has expired, or is of another gateway. */
  async logIn(code: string): Promise<BrowserLoginSecrets | null> {
    const { clock, stored, people, bus, loginMs, owner } = this.#options
    const person = this.#codes.redeem(code)
    if (!person || (await people.isRevokedInStore(person.id))) return null
    const [cookie, proof] = [createSecret('askback_web'), createSecret('proof')]
    const at = clock.now()
    const login = {
      by: person,
      at,
      expiresAt: at + loginMs,
      proofHash: hashOf(proof),
      ...(person.id === owner.id && { ownerToken: owner.tokenFingerprint }),
    }
    await stored.add('web', cookie, login, auditAct(clock, 'login', { by: person, via: 'web' }))
    bus?.publish({ type: 'credentials' })
    return { person, cookie, proof, maxAgeSeconds: Math.floor(loginMs / 1000) }
  }

  /** Ends one login, and closes what it has open. */
  async logOut({ key, by, via }: PersonCredential): Promise<void> {
    const { clock, stored } = this.#options
    this.#publish(await stored.revokeLogin(key, auditAct(clock, 'logout', { by, via })))
  }

  /** Ends all logins of a person, and the links that would log in more. Tokens stay valid. */
  async logOutEverywhere(personId: string, caller: Caller): Promise<void> {
    const { clock, stored, isKnown } = this.#options
    if (!isKnown(personId)) {
      throw new AskbackError('not_found', `There is no person ${JSON.stringify(personId)}.`)
    }
    this.#codes.revoke(personId)
    this.#publish(await stored.revokeLogins(personId, auditAct(clock, 'logout', caller, personId)))
  }

  #publish(revokedKeys: string[]): void {
    this.#options.revocations.publishKeys(revokedKeys)
    this.#options.bus?.publish({ type: 'credentials' })
  }
}

/** One-time codes, by their hash. They are in memory only, and so end with the process. */
class LoginCodes {
  readonly #clock: Clock
  readonly #codes = new Map<string, { by: Actor; expiresAt: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(code: string, by: Actor): void {
    const now = this.#clock.now()
    for (const [key, { expiresAt }] of this.#codes) if (expiresAt <= now) this.#codes.delete(key)
    this.#codes.set(hashOf(code), { by, expiresAt: now + CODE_LIFETIME_MS })
  }

  personOf(code: string): Actor | null {
    const found = this.#codes.get(hashOf(code))
    return found && this.#clock.now() < found.expiresAt ? found.by : null
  }

  redeem(code: string): Actor | null {
    const by = this.personOf(code)
    this.#codes.delete(hashOf(code))
    return by
  }

  revoke(personId: string): void {
    for (const [key, { by }] of this.#codes) if (by.id === personId) this.#codes.delete(key)
  }
}
