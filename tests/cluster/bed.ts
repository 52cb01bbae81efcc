import { startPostgres, type PostgresServer } from '@askback/store-postgres/testing'
import { Client } from 'pg'
import { serve, type RunningGateway } from '../e2e/http/gateways.js'

export const LEASE_MS = 2000

/** A PostgreSQL and some gateways on it, all on this machine, and everything that can go wrong with them. */
export class Bed {
  readonly postgres: PostgresServer
  readonly gateways: RunningGateway[] = []

  readonly #leaseMs: number

  private constructor(postgres: PostgresServer, leaseMs: number) {
    this.postgres = postgres
    this.#leaseMs = leaseMs
  }

  static async start({ gateways = 2, leaseMs = LEASE_MS } = {}): Promise<Bed> {
    const bed = new Bed(await startPostgres({ durable: true }), leaseMs)
    // One after the other, as an operator would: the first makes the tables.
    for (let count = 0; count < gateways; count++) await bed.add()
    return bed
  }

  /** With `port` it reaches the database through what listens there, with `listenPort` the connection that listens does. */
  async add({
    port,
    listenPort,
    env = {},
  }: { port?: number; listenPort?: number; env?: Record<string, string> } = {}): Promise<RunningGateway> {
    const through = (other?: number) => {
      const url = new URL(this.postgres.url())
      if (other !== undefined) url.port = String(other)
      return url.href
    }
    const args = [
      '--store',
      through(port),
      '--store-listen',
      through(listenPort),
      '--lease',
      `${this.#leaseMs}ms`,
      '--timeout',
      'never',
    ]
    const gateway = await serve({ args, env })
    this.gateways.push(gateway)
    return gateway
  }

  /** As a machine that loses its power. */
  async kill(gateway: RunningGateway): Promise<void> {
    this.gateways.splice(this.gateways.indexOf(gateway), 1)
    await gateway.stop('SIGKILL')
  }

  freeze(gateway: RunningGateway): void {
    process.kill(gateway.ready.pid, 'SIGSTOP')
  }

  thaw(gateway: RunningGateway): void {
    process.kill(gateway.ready.pid, 'SIGCONT')
  }

  async restartPostgres(): Promise<void> {
    await this.postgres.stop('crash')
    await this.postgres.start()
  }

  async cutConnections(): Promise<void> {
    await this.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'askback'",
    )
  }

  /** Each commit waits that long, as on a disk that is busy. */
  async slowDisk(ms: number): Promise<void> {
    await this.sql(`ALTER SYSTEM SET commit_delay = ${ms * 1000}`)
    await this.sql('ALTER SYSTEM SET commit_siblings = 0')
    await this.sql('SELECT pg_reload_conf()')
  }

  /** Nothing is read or written for so long. */
  async stall(ms: number): Promise<void> {
    await this.sql(
      `BEGIN; LOCK TABLE askback.sessions, askback.kv IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(${ms / 1000}); COMMIT`,
    )
  }

  /** The database's time. */
  async now(): Promise<number> {
    const [row] = await this.sql<{ now: number }>(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
    )
    return row!.now
  }

  async sql<Row extends object>(text: string): Promise<Row[]> {
    const client = new Client(this.postgres.url())
    await client.connect()
    try {
      return (await client.query<Row>(text)).rows
    } finally {
      await client.end()
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.gateways.map((gateway) => gateway.stop('SIGKILL')))
    await this.postgres.remove()
  }
}
