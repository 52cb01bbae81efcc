import { startPostgres, type PostgresServer } from '@askback/store-postgres/testing'
import { Client } from 'pg'
import { serve, type RunningGateway } from '../e2e/http/gateways.js'

export const LEASE_MS = 2000

/** A PostgreSQL server and gateways on it, all on this machine, with methods that make them fail. */
export class TestCluster {
  readonly postgres: PostgresServer
  readonly gateways: RunningGateway[] = []

  readonly #leaseMs: number

  private constructor(postgres: PostgresServer, leaseMs: number) {
    this.postgres = postgres
    this.#leaseMs = leaseMs
  }

  static async start({ gateways = 2, leaseMs = LEASE_MS } = {}): Promise<TestCluster> {
    const cluster = new TestCluster(await startPostgres({ durable: true }), leaseMs)
    // One after the other, because the first creates the tables.
    for (let count = 0; count < gateways; count++) await cluster.add()
    return cluster
  }

  /** Starts a gateway. It connects to the database by way of `port`, and with its connection that listens by way of `listenPort`. */
  async add({
    port,
    listenPort,
    env = {},
  }: { port?: number; listenPort?: number; env?: Record<string, string> } = {}): Promise<RunningGateway> {
    const addressVia = (other?: number) => {
      const url = new URL(this.postgres.url())
      if (other !== undefined) url.port = String(other)
      return url.href
    }
    const args = [
      '--store',
      addressVia(port),
      '--store-listen',
      addressVia(listenPort),
      '--lease',
      `${this.#leaseMs}ms`,
      '--timeout',
      'never',
    ]
    const gateway = await serve({ args, env })
    this.gateways.push(gateway)
    return gateway
  }

  /** Kills a gateway without a clean stop. */
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

  async dropConnections(): Promise<void> {
    await this.sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'askback'",
    )
  }

  /** Makes each commit wait, as on a busy disk. */
  async slowDisk(ms: number): Promise<void> {
    await this.sql(`ALTER SYSTEM SET commit_delay = ${ms * 1000}`)
    await this.sql('ALTER SYSTEM SET commit_siblings = 0')
    await this.sql('SELECT pg_reload_conf()')
  }

  /** Blocks all reads and writes for `ms`. */
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
