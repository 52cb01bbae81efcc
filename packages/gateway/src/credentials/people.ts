import type { Clock, Store } from '@askback/core'
import { AskbackError, copyJson, skeleton, type Actor, type AuditAct } from '@askback/protocol'

const PREFIX = 'credential/person/'
/** Answers, audits and settings use these for what is not a person. */
const WORDS = 'policy askback system agent agents telegram terminal web http cli mcp direct'
const RESERVED: ReadonlySet<string> = new Set(WORDS.split(' ').map(skeleton))

interface PersonRecord {
  name: string
  at: number
  /** The record of a revoked person stays, so that nobody else gets the name. */
  revokedAt?: number
}

/**
 * Every person who ever had a token, one record for each name that looks different. A name is the identity that answers
 * and pairings carry: it is given once, and a revoked one stays taken.
 */
export class People {
  readonly #store: Store
  readonly #clock: Clock
  /** Names of the first person, who has no record. */
  readonly #reserved: ReadonlySet<string>
  /** By name. The key is the skeleton at the time the record was made, which may differ from today's. */
  #records = new Map<string, { key: string; record: PersonRecord }>()
  /** Asked with every request. It only grows, as nobody is made a person again. */
  readonly #revoked = new Set<string>()

  constructor(store: Store, clock: Clock, reserved: string[]) {
    this.#store = store
    this.#clock = clock
    this.#reserved = new Set(reserved.map(skeleton))
  }

  /** Returns who was revoked since the last time. */
  async refresh(): Promise<string[]> {
    const entries = await this.#store.kv.list(PREFIX)
    this.#records = new Map(
      entries.map(({ key, value }) => {
        const record = value as unknown as PersonRecord
        return [record.name, { key, record }]
      }),
    )
    const revoked = entries
      .map(({ value }) => value as unknown as PersonRecord)
      .filter(({ name, revokedAt }) => revokedAt !== undefined && !this.#revoked.has(name))
      .map(({ name }) => name)
    for (const name of revoked) this.#revoked.add(name)
    return revoked
  }

  /** The person of this name, who is made if the name is free. */
  async claim(text: string, by: Actor | undefined, ownerId: string): Promise<Actor> {
    const name = personName(text)
    const id = skeleton(name)
    if (this.#reserved.has(id)) {
      throw new AskbackError(
        'invalid_request',
        `${quoted(name)} looks like the first person. Choose another name.`,
      )
    }
    if (RESERVED.has(id)) {
      throw new AskbackError(
        'invalid_request',
        `${quoted(name)} is a word that Askback uses itself. Choose another name.`,
      )
    }
    const made: PersonRecord = { name, at: this.#clock.now() }
    const key = this.#keyOf(name)
    const alike = this.#records.has(name) ? undefined : this.#alike(id)
    const isNew = !alike && (await this.#store.kv.put(key, copyJson(made), null))
    const record = alike ?? (isNew ? made : await this.#read(key))
    if (record && !alike) this.#records.set(record.name, { key, record })
    if (record?.name !== name) {
      throw new AskbackError(
        'invalid_request',
        `${quoted(name)} looks like ${quoted(record?.name ?? '')}. Choose another name.`,
      )
    }
    if (record.revokedAt !== undefined) {
      throw new AskbackError(
        'invalid_request',
        `${quoted(name)} was revoked. What that person did keeps the name, so choose another one.`,
      )
    }
    if (!isNew && by && by.id !== ownerId && by.id !== name) {
      throw new AskbackError(
        'forbidden',
        `Only ${quoted(name)} and the first person may make a token for ${quoted(name)}.`,
      )
    }
    return { id: name, name }
  }

  /** Whoever had a token before people had records. */
  async adopt(name: string, at: number): Promise<void> {
    const key = this.#keyOf(name)
    const record: PersonRecord = { name, at }
    if (!this.#records.has(name) && (await this.#store.kv.put(key, copyJson(record), null)))
      this.#records.set(name, { key, record })
  }

  /** False if there is no such person, or no longer. */
  async revoke(name: string, act: AuditAct): Promise<boolean> {
    const key = this.#keyOf(name)
    for (;;) {
      const entry = await this.#store.kv.get(key)
      const record = entry?.value as unknown as PersonRecord | undefined
      if (!entry || record?.name !== name || record.revokedAt !== undefined) return false
      const revoked = { ...record, revokedAt: this.#clock.now() }
      if (!(await this.#store.kv.put(entry.key, copyJson(revoked), entry.version, act))) continue
      this.#records.set(name, { key, record: revoked })
      this.#revoked.add(name)
      return true
    }
  }

  isRevoked(personId: string): boolean {
    return this.#revoked.has(personId)
  }

  /** As the store has it now, whatever this process has heard. */
  async isRevokedInStore(personId: string): Promise<boolean> {
    return isRevoked(await this.#read(this.#keyOf(personId)), personId)
  }

  #keyOf(name: string): string {
    return this.#records.get(name)?.key ?? PREFIX + skeleton(name)
  }

  #alike(id: string): PersonRecord | undefined {
    for (const { record } of this.#records.values()) if (skeleton(record.name) === id) return record
    return undefined
  }

  async #read(key: string): Promise<PersonRecord | undefined> {
    return (await this.#store.kv.get(key))?.value as unknown as PersonRecord | undefined
  }
}

/** Names that differ only in how they are written are one: full-width letters, spaces at the ends or in a row. */
export function personName(text: string): string {
  const name = text.normalize('NFKC').trim().replaceAll(/ +/g, ' ')
  if (
    !/^[\p{L}\p{N}][\p{L}\p{M}\p{N} ._@-]{0,99}$/u.test(name) ||
    /\p{Default_Ignorable_Code_Point}/u.test(text)
  ) {
    throw new AskbackError('invalid_request', 'A name is 1 to 100 visible letters, digits, spaces or . _ @ -')
  }
  return name
}

function isRevoked(record: PersonRecord | undefined, personId: string): boolean {
  return record?.name === personId && record.revokedAt !== undefined
}

function quoted(name: string): string {
  return JSON.stringify(name)
}
