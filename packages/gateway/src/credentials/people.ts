import type { Clock, Store } from '@askback/core'
import { AskbackError, copyJson, skeleton, type Actor, type AuditAct, type Json } from '@askback/protocol'

const PREFIX = 'credential/person/'
/** Names that answers, audits and settings use for what is not a person. */
const RESERVED_NAMES = 'policy askback system agent agents telegram terminal web http cli mcp direct'
const RESERVED: ReadonlySet<string> = new Set(RESERVED_NAMES.split(' ').map(skeleton))

interface PersonRecord {
  name: string
  at: number
  /** The record of a revoked person stays, so that nobody else gets the name. */
  revokedAt?: number
}

/**
 * Every person who ever had a token. A name identifies its person in answers and pairings, so it is given once: names that look the
 * same share one record (its key is the name's skeleton), and the name of a revoked person stays reserved.
 */
export class People {
  readonly #store: Store
  readonly #clock: Clock
  /** Skeletons of the names of the first person, who has no record. */
  readonly #reserved: ReadonlySet<string>
  /** By name. The key is the skeleton at the time when the record was created; a newer Unicode version may compute another. */
  #records = new Map<string, { key: string; record: PersonRecord }>()
  /** Read with every request. It only grows: a revoked person never becomes valid again. */
  readonly #revoked = new Set<string>()

  constructor(store: Store, clock: Clock, reserved: string[]) {
    this.#store = store
    this.#clock = clock
    this.#reserved = new Set(reserved.map(skeleton))
  }

  /** Reads all records. Returns the people who were revoked since the last call. */
  async refresh(): Promise<string[]> {
    const entries = await this.#store.kv.list(PREFIX)
    this.#records = new Map(
      entries.map(({ key, value }) => {
        const record = recordIn(value)
        return [record.name, { key, record }]
      }),
    )
    const revoked = entries
      .map(({ value }) => recordIn(value))
      .filter(({ name, revokedAt }) => revokedAt !== undefined && !this.#revoked.has(name))
      .map(({ name }) => name)
    for (const name of revoked) this.#revoked.add(name)
    return revoked
  }

  /** The person of this name, who is created if the name is free. Throws if `by` may not create a token for them. */
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
    const created: PersonRecord = { name, at: this.#clock.now() }
    const key = this.#keyOf(name)
    const alike = this.#records.has(name) ? undefined : this.#alike(id)
    const isNew = !alike && (await this.#store.kv.put(key, copyJson(created), null))
    const record = alike ?? (isNew ? created : await this.#read(key))
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

  /** Adds the record of a person whose token is older than these records. */
  async addMissing(name: string, at: number): Promise<void> {
    const key = this.#keyOf(name)
    const record: PersonRecord = { name, at }
    if (!this.#records.has(name) && (await this.#store.kv.put(key, copyJson(record), null)))
      this.#records.set(name, { key, record })
  }

  /** Resolves to false if there is no such person, or they were revoked before. */
  async revoke(name: string, act: AuditAct): Promise<boolean> {
    const key = this.#keyOf(name)
    for (;;) {
      const entry = await this.#store.kv.get(key)
      if (!entry) return false
      const record = recordIn(entry.value)
      if (record.name !== name || record.revokedAt !== undefined) return false
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

  /** Asks the store, because this process may have missed the revocation. */
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
    const entry = await this.#store.kv.get(key)
    return entry ? recordIn(entry.value) : undefined
  }
}

function recordIn(value: Json): PersonRecord {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only `People` writes these entries
  return value as unknown as PersonRecord
}

/** Normalises a name: full-width letters, and spaces at the ends or in a row, make no difference. Throws `invalid_request`. */
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
