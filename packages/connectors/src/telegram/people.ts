import type { Clock, Kv } from '@askback/core'
import type { Actor, AuditAct, Json } from '@askback/protocol'
import { randomInt } from 'node:crypto'

const LIFETIME_MS = 10 * 60_000
const SYMBOLS = '23456789ABCDEFGHJKMNPQRSTVWXYZ'
const LENGTH = 10
/** Wrong codes of one person, and of all, until the oldest is ten minutes old. */
const MOST_TRIES = 5
const MOST_TRIES_OF_ALL = 100

export interface AllowedUser {
  id: number
  name?: string
}

export interface PeopleOptions {
  kv: Kv
  clock: Clock
  users: AllowedUser[]
  id: string
  /** Whether a person who paired is still one: whose tokens are revoked answers nowhere. */
  isKnown?: ((personId: string) => boolean) | undefined
}

/** Who may answer: those whom the operator named, and those who brought a code. Nobody else. */
export class People {
  readonly #kv: Kv
  readonly #clock: Clock
  readonly #prefix: string
  readonly #named = new Map<number, Actor>()
  readonly #paired = new Map<number, Actor>()
  readonly #isKnown: (personId: string) => boolean
  readonly #codes = new Map<string, { by: Actor; expiresAt: number }>()
  #tries: { user: number; at: number }[] = []

  constructor({ kv, clock, users, id, isKnown = () => true }: PeopleOptions) {
    this.#isKnown = isKnown
    this.#kv = kv
    this.#clock = clock
    this.#prefix = `connector/${id}/person/`
    for (const { id: user, name } of users) {
      this.#named.set(user, { id: `telegram:${user}`, ...(name !== undefined && { name }) })
    }
  }

  async load(): Promise<void> {
    for (const { key, value } of await this.#kv.list(this.#prefix)) {
      this.#paired.set(Number(key.slice(this.#prefix.length)), value as unknown as Actor)
    }
  }

  find(user: number): Actor | undefined {
    const paired = this.#paired.get(user)
    return paired && this.#isKnown(paired.id) ? paired : this.#named.get(user)
  }

  /** A code that makes whoever sends it this person, once. */
  newCode(by: Actor): { code: string; expiresAt: number } {
    const now = this.#clock.now()
    for (const [code, { expiresAt }] of this.#codes) if (expiresAt <= now) this.#codes.delete(code)
    const code = Array.from({ length: LENGTH }, () => SYMBOLS[randomInt(SYMBOLS.length)]).join('')
    const expiresAt = now + LIFETIME_MS
    this.#codes.set(code, { by, expiresAt })
    return { code, expiresAt }
  }

  async redeem(text: string, user: number): Promise<Actor | 'wrong' | 'too_many'> {
    const now = this.#clock.now()
    this.#tries = this.#tries.filter(({ at }) => now - at < LIFETIME_MS)
    const own = this.#tries.filter((each) => each.user === user).length
    if (own >= MOST_TRIES || this.#tries.length >= MOST_TRIES_OF_ALL) return 'too_many'
    const code = text.trim().toUpperCase()
    const found = this.#codes.get(code)
    this.#codes.delete(code)
    if (!found || found.expiresAt <= now) {
      this.#tries.push({ user, at: now })
      return 'wrong'
    }
    await this.#put(user, found.by, this.#act('paired', user, found.by))
    this.#paired.set(user, found.by)
    return found.by
  }

  async forget(user: number): Promise<void> {
    const paired = this.#paired.get(user)
    this.#paired.delete(user)
    if (paired) await this.#put(user, null, this.#act('unpaired', user, paired))
  }

  #act(act: 'paired' | 'unpaired', user: number, by: Actor): AuditAct {
    return { at: this.#clock.now(), act, by, via: 'telegram', subject: `telegram:${user}` }
  }

  async #put(user: number, actor: Actor | null, act: AuditAct): Promise<void> {
    const key = `${this.#prefix}${user}`
    for (;;) {
      const entry = await this.#kv.get(key)
      if (!entry && !actor) return
      if (await this.#kv.put(key, actor as Json | null, entry?.version ?? null, act)) return
    }
  }
}
