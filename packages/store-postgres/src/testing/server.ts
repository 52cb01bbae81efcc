import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'

export interface PostgresServer {
  readonly port: number
  /** Of the superuser, or of the one named. */
  url(as?: { user?: string; password?: string; database?: string }): string
  /** Ends it as a crash of the machine would, or in good order. */
  stop(how?: 'crash' | 'order'): Promise<void>
  start(): Promise<void>
  /** Stops it and removes everything. */
  remove(): Promise<void>
}

const USER = 'askback'

/** The superuser needs no password, so that many short connections cost little; everybody else does. */
const ACCESS = `host all ${USER} 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n`

/** A PostgreSQL of one's own in a temporary folder, on a free port of this machine. `durable` syncs each commit. */
export async function startPostgres({
  durable = false,
  settings = [] as string[],
} = {}): Promise<PostgresServer> {
  const memory = !durable && existsSync('/dev/shm')
  const folder = mkdtempSync(join(memory ? '/dev/shm' : tmpdir(), 'askback-postgres-'))
  const as = owner()
  if (as) chownSync(folder, as.uid, as.gid)
  const port = await freePort()
  const data = join(folder, 'data')
  let server: ChildProcess | undefined

  const made = spawnSync(
    program('initdb'),
    ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '-N'],
    { cwd: folder, encoding: 'utf8', ...as },
  )
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`)
  writeFileSync(join(data, 'pg_hba.conf'), ACCESS)

  const url: PostgresServer['url'] = ({ user = USER, password = '', database = 'postgres' } = {}) =>
    `postgres://${user}${password && `:${encodeURIComponent(password)}`}@127.0.0.1:${port}/${database}`

  async function start(): Promise<void> {
    const options = [
      'listen_addresses=127.0.0.1',
      `port=${port}`,
      `unix_socket_directories=${folder}`,
      ...(durable ? [] : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']),
      ...settings,
    ]
    const args = ['-D', data, ...options.flatMap((option) => ['-c', option])]
    let said = ''
    const child = spawn(program('postgres'), args, {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      ...as,
    })
    server = child
    child.stderr.on('data', (text: Buffer) => (said = (said + text.toString()).slice(-4000)))
    while (!(await answers(url()))) {
      if (child.exitCode !== null) throw new Error(`PostgreSQL did not start: ${said}`)
      await delay(20)
    }
  }

  async function stop(how: 'crash' | 'order' = 'order'): Promise<void> {
    const child = server
    server = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill(how === 'crash' ? 'SIGQUIT' : 'SIGINT')
    await ended
  }

  await start()
  return {
    port,
    url,
    start,
    stop,
    async remove() {
      await stop('crash')
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

/** PostgreSQL refuses to run as root. */
export function owner(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** Debian keeps them out of the path, by version. */
function program(name: string): string {
  const versions = '/usr/lib/postgresql'
  if (!existsSync(versions)) return name
  const newest = readdirSync(versions)
    .sort((one, other) => Number(other) - Number(one))
    .map((version) => join(versions, version, 'bin', name))
    .find((path) => existsSync(path))
  return newest ?? name
}

export async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.end()
    return true
  } catch {
    return false
  }
}

/** Below those from 32768 on, which the system would give to somebody else before it is used. */
export async function freePort(): Promise<number> {
  const port = randomInt(20_000, 30_000)
  const server = createServer()
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
  })
  await new Promise((resolve) => server.close(resolve))
  return isFree ? port : freePort()
}
