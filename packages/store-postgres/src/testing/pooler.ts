import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { acceptsConnections, freePort, postgresUser, type PostgresServer } from './server.js'

/** Starts PgBouncer in front of a server: each transaction may run on another of a few connections. */
export async function startPooler(
  server: PostgresServer,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'askback-pgbouncer-'))
  const port = await freePort()
  const settings = join(folder, 'pgbouncer.ini')
  const users = join(folder, 'users.txt')
  const { username } = new URL(server.url())
  writeFileSync(users, `"${username}" ""\n`)
  writeFileSync(
    settings,
    `[databases]
* = host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = 4
max_client_conn = 100
`,
  )
  const as = postgresUser()
  if (as) for (const path of [folder, settings, users]) chownSync(path, as.uid, as.gid)
  const program = existsSync('/usr/sbin/pgbouncer') ? '/usr/sbin/pgbouncer' : 'pgbouncer'
  const child = spawn(program, ['-q', settings], { stdio: 'ignore', ...as })
  const url = server.url().replace(`:${server.port}/`, `:${port}/`)
  while (!(await acceptsConnections(url))) {
    if (child.exitCode !== null) throw new Error('PgBouncer did not start.')
    await delay(20)
  }
  return {
    url,
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGQUIT')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
