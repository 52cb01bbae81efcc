import type { Clock, Kv } from '@askback/core'
import type { Actor, AuditAct, Json, Via } from '@askback/protocol'
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
  /** Whether a person who paired may still act: a revoked one answers nowhere. Asked each time. */
  isKnown?: ((personId: string) => boolean | Promise<boolean>) | undefined
}

/** Who may answer: those whom the operator named, and those who brought a code. Nobody else. */
export class People {
  readonly #kv: Kv
  readonly #clock: Clock
  readonly #prefix: string
  readonly #named = new Map<number, Actor>()
  readonly #isKnown: (personId: string) => boolean | Promise<boolean>
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

  /** Read from the store each time: another process may have ended the pairing. */
  async find(user: number): Promise<Actor | undefined> {
    const paired = await this.#pairedWith(user)
    return paired && (await this.#isKnown(paired.id)) ? paired : this.#named.get(user)
  }

  /** Everybody who paired. */
  async paired(): Promise<{ user: number; by: Actor }[]> {
    const entries = await this.#kv.list(this.#prefix)
    return entries.map(({ key, value }) => ({
      user: Number(key.slice(this.#prefix.length)),
      by: value as unknown as Actor,
    }))
  }

  /** Those who paired and may no longer act, as when they were revoked while nobody listened. */
  async strangers(): Promise<string[]> {
    const ids = new Set((await this.paired()).map(({ by }) => by.id))
    const known = await Promise.all([...ids].map(async (id) => ((await this.#isKnown(id)) ? [] : [id])))
    return known.flat()
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
    if (!(await this.#isKnown(found.by.id))) return 'wrong'
    await this.#put(user, found.by, this.#act('paired', user, found.by, 'telegram'))
    return found.by
  }

  /** Ends the pairing of one account, by whoever has it. */
  async unpair(user: number): Promise<void> {
    const paired = await this.#pairedWith(user)
    if (paired) await this.#put(user, null, this.#act('unpaired', user, paired, 'telegram'))
  }

  /** Ends all pairings of a person, and the codes that would make more. Returns the accounts. */
  async forget(personId: string): Promise<number[]> {
    for (const [code, { by }] of this.#codes) if (by.id === personId) this.#codes.delete(code)
    const theirs = (await this.paired()).filter(({ by }) => by.id === personId)
    for (const { user, by } of theirs) await this.#put(user, null, this.#act('unpaired', user, by, 'policy'))
    return theirs.map(({ user }) => user)
  }

  async #pairedWith(user: number): Promise<Actor | undefined> {
    return (await this.#kv.get(`${this.#prefix}${user}`))?.value as unknown as Actor | undefined
  }

  #act(act: 'paired' | 'unpaired', user: number, by: Actor, via: Via): AuditAct {
    return { at: this.#clock.now(), act, by, via, subject: `telegram:${user}` }
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
