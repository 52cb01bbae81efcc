import type { Clock, Kv } from '@askback/core'
import { actor as actorSchema, type Actor, type AuditAct, type Via } from '@askback/protocol'
import { randomInt } from 'node:crypto'
import { overwrite } from '../overwrite.js'

const CODE_LIFETIME_MS = 10 * 60_000
/** Without characters that look alike. */
const CODE_SYMBOLS = '23456789ABCDEFGHJKMNPQRSTVWXYZ'
const CODE_LENGTH = 10
/** Wrong codes within the lifetime of a code: of one Telegram account, and of all accounts together. */
const MAX_WRONG_CODES = 5
const MAX_WRONG_CODES_OF_ALL = 100

/** A Telegram account that may answer without pairing. */
export interface AllowedUser {
  id: number
  name?: string
}

export interface PairingsOptions {
  kv: Kv
  clock: Clock
  users: AllowedUser[]
  connectorId: string
  /** Whether a person who paired may still act, since they could have been revoked. Called for each action. */
  mayAct?: ((personId: string) => boolean | Promise<boolean>) | undefined
}

/**
 * Which person acts through which Telegram account: those whom the operator configured, and those who sent a pairing code.
 * Nobody else may answer. Pairings are stored; codes are in memory and end with the process.
 */
export class Pairings {
  readonly #kv: Kv
  readonly #clock: Clock
  readonly #prefix: string
  readonly #configured = new Map<number, Actor>()
  readonly #mayAct: (personId: string) => boolean | Promise<boolean>
  readonly #codes = new Map<string, { by: Actor; expiresAt: number }>()
  #wrongCodes: { user: number; at: number }[] = []

  constructor({ kv, clock, users, connectorId, mayAct = () => true }: PairingsOptions) {
    this.#mayAct = mayAct
    this.#kv = kv
    this.#clock = clock
    this.#prefix = `connector/${connectorId}/person/`
    for (const { id, name } of users) {
      this.#configured.set(id, { id: `telegram:${id}`, ...(name !== undefined && { name }) })
    }
  }

  /** The person behind an account. Reads the store each time, because another process may have ended the pairing. */
  async find(user: number): Promise<Actor | undefined> {
    const paired = await this.#pairedWith(user)
    return paired && (await this.#mayAct(paired.id)) ? paired : this.#configured.get(user)
  }

  /** Ids of people who are paired but may no longer act, such as those who were revoked while no process ran. */
  async revokedPeople(): Promise<string[]> {
    const ids = new Set((await this.#all()).map(({ by }) => by.id))
    const revoked = await Promise.all([...ids].map(async (id) => ((await this.#mayAct(id)) ? [] : [id])))
    return revoked.flat()
  }

  /** Makes a code. The account that sends it first acts as this person from then on. */
  newCode(by: Actor): { code: string; expiresAt: number } {
    const now = this.#clock.now()
    for (const [code, { expiresAt }] of this.#codes) if (expiresAt <= now) this.#codes.delete(code)
    const code = Array.from({ length: CODE_LENGTH }, () => CODE_SYMBOLS[randomInt(CODE_SYMBOLS.length)]).join(
      '',
    )
    const expiresAt = now + CODE_LIFETIME_MS
    this.#codes.set(code, { by, expiresAt })
    return { code, expiresAt }
  }

  async redeemCode(text: string, user: number): Promise<Actor | 'wrong' | 'too_many'> {
    const now = this.#clock.now()
    this.#wrongCodes = this.#wrongCodes.filter(({ at }) => now - at < CODE_LIFETIME_MS)
    const ofUser = this.#wrongCodes.filter((each) => each.user === user).length
    if (ofUser >= MAX_WRONG_CODES || this.#wrongCodes.length >= MAX_WRONG_CODES_OF_ALL) return 'too_many'
    const code = text.trim().toUpperCase()
    const found = this.#codes.get(code)
    this.#codes.delete(code)
    if (!found || found.expiresAt <= now) {
      this.#wrongCodes.push({ user, at: now })
      return 'wrong'
    }
    if (!(await this.#mayAct(found.by.id))) return 'wrong'
    await this.#write(user, found.by, this.#auditAct('paired', user, found.by, 'telegram'))
    return found.by
  }

  /** Ends the pairing of one account, at the request of its owner. */
  async unpair(user: number): Promise<void> {
    const paired = await this.#pairedWith(user)
    if (paired) await this.#write(user, null, this.#auditAct('unpaired', user, paired, 'telegram'))
  }

  /** Ends all pairings of a person and their unused codes. Resolves to the accounts that were paired. */
  async removePerson(personId: string): Promise<number[]> {
    for (const [code, { by }] of this.#codes) if (by.id === personId) this.#codes.delete(code)
    const paired = (await this.#all()).filter(({ by }) => by.id === personId)
    for (const { user, by } of paired)
      await this.#write(user, null, this.#auditAct('unpaired', user, by, 'policy'))
    return paired.map(({ user }) => user)
  }

  async #all(): Promise<{ user: number; by: Actor }[]> {
    const entries = await this.#kv.list(this.#prefix)
    return entries.map(({ key, value }) => ({
      user: Number(key.slice(this.#prefix.length)),
      by: actorSchema.parse(value),
    }))
  }

  async #pairedWith(user: number): Promise<Actor | undefined> {
    const entry = await this.#kv.get(`${this.#prefix}${user}`)
    return entry ? actorSchema.parse(entry.value) : undefined
  }

  #auditAct(act: 'paired' | 'unpaired', user: number, by: Actor, via: Via): AuditAct {
    return { at: this.#clock.now(), act, by, via, subject: `telegram:${user}` }
  }

  #write(user: number, actor: Actor | null, act: AuditAct): Promise<void> {
    return overwrite(
      this.#kv,
      `${this.#prefix}${user}`,
      actor && { id: actor.id, ...(actor.name !== undefined && { name: actor.name }) },
      act,
    )
  }
}
