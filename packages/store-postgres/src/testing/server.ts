import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'

/** A PostgreSQL for tests. */
export interface PostgresServer {
  readonly port: number
  /** The address for the superuser, or for the given user. */
  url(as?: { user?: string; password?: string; database?: string }): string
  /** Stops it without writing anything more, as in a crash, or in an orderly way. */
  stop(how?: 'crash' | 'order'): Promise<void>
  start(): Promise<void>
  /** Stops it and deletes its folder. */
  remove(): Promise<void>
}

const USER = 'askback'

/** Checking a password is slow, so the superuser, as whom most tests connect, needs none. */
const ACCESS = `host all ${USER} 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n`

/**
 * Starts a PostgreSQL server of its own in a temporary folder, on a free port of this machine. With `durable` it syncs each commit
 * to a disk; otherwise its files are in memory where the system allows.
 */
export async function startPostgres({
  durable = false,
  settings = [] as string[],
} = {}): Promise<PostgresServer> {
  const isInMemory = !durable && existsSync('/dev/shm')
  const folder = mkdtempSync(join(isInMemory ? '/dev/shm' : tmpdir(), 'askback-postgres-'))
  const as = postgresUser()
  if (as) chownSync(folder, as.uid, as.gid)
  const port = await freePort()
  const data = join(folder, 'data')
  let server: ChildProcess | undefined

  const initialised = spawnSync(
    program('initdb'),
    ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '-N'],
    { cwd: folder, encoding: 'utf8', ...as },
  )
  if (initialised.status !== 0) throw new Error(`initdb failed: ${initialised.stderr}`)
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
    let output = ''
    const child = spawn(program('postgres'), args, {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      ...as,
    })
    server = child
    child.stderr.on('data', (text: Buffer) => (output = (output + text.toString()).slice(-4000)))
    while (!(await acceptsConnections(url()))) {
      if (child.exitCode !== null) throw new Error(`PostgreSQL did not start: ${output}`)
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

/** PostgreSQL refuses to run as root: then it runs as the user postgres. */
export function postgresUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** Debian installs the programs of each version outside of the path. */
function program(name: string): string {
  const versions = '/usr/lib/postgresql'
  if (!existsSync(versions)) return name
  const newest = readdirSync(versions)
    .sort((one, other) => Number(other) - Number(one))
    .map((version) => join(versions, version, 'bin', name))
    .find((path) => existsSync(path))
  return newest ?? name
}

export async function acceptsConnections(url: string): Promise<boolean> {
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

/**
 * Returns a port that no other process gets until this one ends, even while nothing listens on it. It is below 32768, because
 * from there on the system could assign the port to another connection.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(20_000, 30_000)
  if (!reserve(port)) return freePort()
  const server = createServer()
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true))
  })
  await new Promise((resolve) => server.close(resolve))
  return isFree ? port : freePort()
}

/** Whether this process has reserved the port now: one file for each port names the process that has it. */
function reserve(port: number): boolean {
  const folder = join(tmpdir(), `askback-ports-${userInfo().uid}`)
  mkdirSync(folder, { recursive: true })
  const file = join(folder, String(port))
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    deleteIfStale(file)
    return false
  }
}

/** Deletes the reservation of a process that has ended. Other processes may do the same at the same time. */
function deleteIfStale(file: string): void {
  try {
    process.kill(Number(readFileSync(file, 'utf8')), 0)
  } catch {
    rmSync(file, { force: true })
  }
}
