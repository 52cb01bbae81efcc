import { AskbackError } from '@askback/protocol'
import { setTimeout as delay } from 'node:timers/promises'
import { Pool, types, type ClientConfig, type PoolClient } from 'pg'
import { failure, isLost, mayTryAgain, wasRefused, type Outcome } from './failure.js'

export type Value = string | number | boolean | null | readonly (string | number | boolean | null)[]

/** Rows come as tuples. */
export interface Database {
  /** For people: never with a password. */
  readonly where: string
  /** May be sent again if the connection is lost. */
  read<Row extends unknown[]>(sql: string, params?: Value[]): Promise<Row[]>
  /** Is sent once: if the connection is lost on the way, whether it happened is not known. */
  write<Row extends unknown[]>(sql: string, params?: Value[]): Promise<Row[]>
  /** Statements of one transaction. */
  transaction<T>(
    work: (query: (sql: string, params?: Value[]) => Promise<unknown[][]>) => Promise<T>,
  ): Promise<T>
  close(): Promise<void>
}

export interface ConnectionOptions {
  url: string
  /** Connections beside the one that listens. */
  connections?: number
  /** How long a statement may take. */
  statementTimeoutMs?: number
  /** How long a statement waits for a server that is away before it fails. */
  patienceMs?: number
}

const MOST_ATTEMPTS = 20
const FIRST_PAUSE_MS = 25
const LONGEST_PAUSE_MS = 1000
const INT8 = 20

/** Nothing here is kept in a connection from one statement to the next, so that a proxy may stand in between. */
export function connect(options: ConnectionOptions): Database {
  const { statementTimeoutMs = 15_000, connections = 10, patienceMs = 5000 } = options
  const { config, where } = addressOf(options.url)
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
    // An idle connection that ends is none: the next statement makes another.
    made.on('error', () => undefined)
    // One at work tells whoever waits for its statement, too.
    made.on('connect', (client) => client.on('error', () => undefined))
    return made
  }

  async function connection(deadline: number, outcome?: Outcome): Promise<PoolClient> {
    for (let attempt = 0; ; attempt++) {
      if (closed) throw new AskbackError('unavailable', 'The store is closed.')
      try {
        return await pool.connect()
      } catch (error) {
        if (isProxyRefusal(error)) pool = makePool(false)
        else if (!isLost(error) || Date.now() >= deadline) throw failure(error, where, outcome)
        else await delay(pause(attempt))
      }
    }
  }

  async function once(
    sql: string,
    values: Value[],
    deadline: number,
    outcome?: Outcome,
  ): Promise<unknown[][]> {
    const client = await connection(deadline, outcome)
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
      client.release(problem !== undefined && !wasRefused(problem))
    }
  }

  async function run<Row extends unknown[]>(sql: string, params: Value[], isRead: boolean): Promise<Row[]> {
    const deadline = Date.now() + patienceMs
    for (let attempt = 0; ; attempt++) {
      try {
        // The engine is not typed; each caller states the row beside the columns it selects.
        return (await once(sql, params, deadline, isRead ? undefined : 'not_written')) as Row[]
      } catch (error) {
        if (error instanceof AskbackError) throw error
        const again = mayTryAgain(error)
          ? attempt < MOST_ATTEMPTS
          : isRead && isLost(error) && Date.now() < deadline
        if (!again)
          throw failure(error, where, isRead ? undefined : wasRefused(error) ? 'not_written' : 'unknown')
        await delay(pause(attempt))
      }
    }
  }

  return {
    where,
    read: (sql, params = []) => run(sql, params, true),
    write: (sql, params = []) => run(sql, params, false),
    async transaction(work) {
      const client = await connection(Date.now())
      const query = async (text: string, values: Value[] = []) =>
        (await client.query<unknown[]>({ text, values: values as unknown[], rowMode: 'array' })).rows
      try {
        await query('BEGIN')
        const result = await work(query)
        await query('COMMIT')
        client.release()
        return result
      } catch (error) {
        client.release(true)
        throw failure(error, where)
      }
    },
    async close() {
      closed = true
      await pool.end()
    },
  }
}

/** PgBouncer takes no settings at the start of a connection unless it is told to ignore them. */
function isProxyRefusal(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('unsupported startup parameter')
}

/** Grows, and differs from process to process. */
export function pause(attempt: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2)
}

export function addressOf(url: string): { config: ClientConfig; where: string } {
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
      getTypeParser: ((oid: number, format?: 'text'): unknown =>
        oid === INT8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
    },
  }
  const name = parsed.pathname.slice(1) || parsed.username
  return { config, where: `${parsed.host || parsed.searchParams.get('host') || 'localhost'}/${name}` }
}
