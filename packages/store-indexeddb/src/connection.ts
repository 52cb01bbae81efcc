import { AskbackError } from '@askback/protocol'
import type { WriteOutcome } from '@askback/core/store'
import { openDB } from 'idb'
import { failure } from './failure.js'
import { migrate, TABLES, VERSION, type IdbDatabase, type IdbSchema } from './schema.js'

const BLOCKED_MS = 5000

export interface ConnectOptions {
  name: string
  /** Resolves when all writes that were submitted have ended. Called before the database is closed for another tab. */
  drained: () => Promise<void>
  /**
   * How long tabs with an older version have to close the database, in milliseconds. They do so at once, unless they are frozen or busy.
   *
   * @default 5000
   */
  blockedMs?: number
  /** The version of the object stores; for tests. */
  version?: number
}

/**
 * A connection to the database, which the browser or another tab may end. Before another tab upgrades or deletes the database, this
 * connection completes its writes and closes. So everything acknowledged is stored, and everything later fails with a sentence that
 * says why.
 */
export class IdbConnection {
  readonly name: string
  readonly #drained: () => Promise<void>
  #db: IdbDatabase | null = null
  #ended: AskbackError | null = null

  private constructor({ name, drained }: ConnectOptions) {
    this.name = name
    this.#drained = drained
  }

  /** Opens the database, and creates or upgrades its object stores. */
  static async open(options: ConnectOptions): Promise<IdbConnection> {
    // Some browsers have `null` where they block storage.
    if (!globalThis.indexedDB) {
      throw new AskbackError(
        'unavailable',
        'There is no IndexedDB here: use this store in a browser, or use memoryStore().',
      )
    }
    const connection = new IdbConnection(options)
    try {
      connection.#db = await connection.#open(options)
      return connection
    } catch (error) {
      throw isVersionError(error) ? await newerError(options.name, error) : failure(error, options.name)
    }
  }

  /** Throws if the connection has ended. */
  get db(): IdbDatabase {
    this.throwIfEnded()
    return this.databaseForSubmitted()
  }

  /** For writes that were submitted before the connection ended. */
  databaseForSubmitted(): IdbDatabase {
    if (!this.#db) throw new AskbackError('internal', 'The database is not open yet.')
    return this.#db
  }

  throwIfEnded(): void {
    if (this.#ended) throw this.#ended
  }

  /** If the connection has ended, that is the reason of every error. */
  failureOf(error: unknown, outcome?: WriteOutcome): AskbackError {
    const isOfBrowser = error instanceof DOMException
    if (!this.#ended || !isOfBrowser) return failure(error, this.name, outcome)
    return this.#ended
  }

  end(why: string): void {
    this.#ended ??= new AskbackError('unavailable', why)
  }

  close(): void {
    this.end('The store is closed.')
    this.#db?.close()
  }

  #open({ blockedMs = BLOCKED_MS, version = VERSION }: ConnectOptions): Promise<IdbDatabase> {
    return new Promise((resolve, reject) => {
      let timer: ReturnType<typeof setTimeout> | undefined
      let isGivenUp = false
      const opening = openDB<IdbSchema>(this.name, version, {
        upgrade: (db, from) => migrate(db, from),
        blocked: () => {
          timer = setTimeout(() => {
            isGivenUp = true
            reject(blockedError(this.name))
          }, blockedMs)
        },
        blocking: (_version, newVersion) => void this.#giveUp(newVersion === null),
        terminated: () =>
          this.end(
            `The database ${this.name} was closed by the browser, for example because the data of this site was deleted: reload this page.`,
          ),
      })
      opening
        .then((db) => {
          if (isGivenUp || TABLES.some((table) => !db.objectStoreNames.contains(table))) {
            db.close()
            throw new DOMException('An object store is missing.', 'NotFoundError')
          }
          resolve(db)
        })
        .catch(reject)
        .finally(() => clearTimeout(timer))
    })
  }

  async #giveUp(isDeleted: boolean): Promise<void> {
    this.end(
      isDeleted
        ? `The database ${this.name} was deleted in another tab: reload this page.`
        : `The database ${this.name} was upgraded by a newer Askback in another tab: reload this page.`,
    )
    await this.#drained()
    this.#db?.close()
  }
}

function isVersionError(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'VersionError'
}

async function newerError(name: string, cause: unknown): Promise<AskbackError> {
  const found = (await indexedDB.databases()).find((database) => database.name === name)?.version
  return new AskbackError(
    'unavailable',
    `The database ${name} is of version ${found ?? 'unknown'}, made by a newer Askback; this page knows versions up to ${VERSION}: reload it to get the newer one.`,
    { cause },
  )
}

function blockedError(name: string): AskbackError {
  return new AskbackError(
    'unavailable',
    `The database ${name} must be upgraded, and another tab with an older Askback still uses it: close or reload that tab, then reload this page.`,
  )
}
