import type { WriteOutcome } from '@askback/core/store'
import { AskbackError, backoffMs } from '@askback/protocol'
import { setTimeout as delay } from 'node:timers/promises'
import { Pool, types, type ClientConfig, type PoolClient } from 'pg'
import { failure, isConflict, isUnreachable, wasRejected } from './failure.js'

/** A parameter of a statement. */
export type SqlValue = string | number | boolean | null | readonly (string | number | boolean | null)[]

/** A pool of connections. Rows are tuples in the order of the selected columns. */
export interface Database {
  /** Host and name, for error messages: without the password. */
  readonly address: string
  /** Is sent again if the connection is lost. */
  read<Row extends unknown[]>(sql: string, params?: SqlValue[]): Promise<Row[]>
  /** Is not sent again after the connection was lost: then it is not known whether the write happened. */
  write<Row extends unknown[]>(sql: string, params?: SqlValue[]): Promise<Row[]>
  /** Runs statements in one transaction. */
  transaction<T>(
    work: (query: (sql: string, params?: SqlValue[]) => Promise<unknown[][]>) => Promise<T>,
  ): Promise<T>
  close(): Promise<void>
}

export interface ConnectionOptions {
  /** `postgres://user:password@host:5432/name` */
  url: string
  /**
   * The size of the pool. The connection that listens is not part of it.
   *
   * @default 10
   */
  connections?: number
  /**
   * How long a statement may run, in milliseconds.
   *
   * @default 15000
   */
  statementTimeoutMs?: number
  /**
   * How long a statement waits for a server that cannot be reached before it fails, in milliseconds.
   *
   * @default 5000
   */
  retryForMs?: number
}

const MAX_CONFLICTS = 20
/** The jitter keeps processes from retrying at the same moment. */
export const BACKOFF = { firstMs: 25, maxMs: 1000 }
/** The type id of `bigint`, which the client library returns as text by default. */
const INT8 = 20

/** No statement depends on the state that an earlier one left in its connection, so that a proxy may pool transactions. */
export function connect(options: ConnectionOptions): Database {
  const { statementTimeoutMs = 15_000, connections = 10, retryForMs = 5000 } = options
  const { config, address } = parseAddress(options.url)
  let pool = makePool(true)
  let closed = false

  function makePool(withTimeout: boolean): Pool {
    const made = new Pool({
      ...config,
      max: connections,
      connectionTimeoutMillis: 5000,
      query_timeout: statementTimeoutMs + 5000,
      ...(withTimeout && { statement_timeout: statementTimeoutMs }),
    })
    // If an idle connection ends, the next statement opens another.
    made.on('error', () => undefined)
    // If one ends while it is used, its statement rejects as well.
    made.on('connect', (client) => client.on('error', () => undefined))
    return made
  }

  async function acquire(deadline: number, outcome?: WriteOutcome): Promise<PoolClient> {
    for (let failures = 1; ; failures++) {
      if (closed) throw new AskbackError('unavailable', 'The store is closed.')
      try {
        return await pool.connect()
      } catch (error) {
        if (isProxyRefusal(error)) pool = makePool(false)
        else if (!isUnreachable(error) || Date.now() >= deadline) throw failure(error, address, outcome)
        else await delay(backoffMs(failures, BACKOFF))
      }
    }
  }

  async function runOnce(
    sql: string,
    values: SqlValue[],
    deadline: number,
    outcome?: WriteOutcome,
  ): Promise<unknown[][]> {
    const client = await acquire(deadline, outcome)
    let problem: unknown
    try {
      const { rows } = await client.query<unknown[]>({
        text: sql,
        values: values as unknown[],
        rowMode: 'array',
      })
      return rows
    } catch (error) {
      problem = error
      throw error
    } finally {
      client.release(problem !== undefined && !wasRejected(problem))
    }
  }

  async function run<Row extends unknown[]>(
    sql: string,
    params: SqlValue[],
    isRead: boolean,
  ): Promise<Row[]> {
    const deadline = Date.now() + retryForMs
    for (let failures = 1; ; failures++) {
      try {
        // Rows are not typed: each caller states their type beside the columns it selects.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
        return (await runOnce(sql, params, deadline, isRead ? undefined : 'not_written')) as Row[]
      } catch (error) {
        if (error instanceof AskbackError) throw error
        const canRetry = isConflict(error)
          ? failures <= MAX_CONFLICTS
          : isRead && isUnreachable(error) && Date.now() < deadline
        if (!canRetry)
          throw failure(error, address, isRead ? undefined : wasRejected(error) ? 'not_written' : 'unknown')
        await delay(backoffMs(failures, BACKOFF))
      }
    }
  }

  return {
    address,
    read: (sql, params = []) => run(sql, params, true),
    write: (sql, params = []) => run(sql, params, false),
    async transaction(work) {
      const client = await acquire(Date.now())
      const query = async (text: string, values: SqlValue[] = []) =>
        (await client.query<unknown[]>({ text, values: values as unknown[], rowMode: 'array' })).rows
      try {
        await query('BEGIN')
        const result = await work(query)
        await query('COMMIT')
        client.release()
        return result
      } catch (error) {
        client.release(true)
        throw failure(error, address)
      }
    },
    async close() {
      closed = true
      await pool.end()
    },
  }
}

/** PgBouncer rejects settings at the start of a connection, unless it is configured to ignore them. */
function isProxyRefusal(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('unsupported startup parameter')
}

export function parseAddress(url: string): { config: ClientConfig; address: string } {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (!parsed || !['postgres:', 'postgresql:'].includes(parsed.protocol)) {
    throw new AskbackError(
      'invalid_request',
      'The address of the database must be like postgres://user:password@host:5432/name.',
    )
  }
  const config: ClientConfig = {
    connectionString: url,
    application_name: 'askback',
    keepAlive: true,
    types: {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- overloads cannot be written as an arrow function
      getTypeParser: ((oid: number, format?: 'text'): unknown =>
        oid === INT8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
    },
  }
  const name = parsed.pathname.slice(1) || parsed.username
  return { config, address: `${parsed.host || parsed.searchParams.get('host') || 'localhost'}/${name}` }
}
