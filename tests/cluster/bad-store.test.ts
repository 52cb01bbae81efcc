import { startPostgres, type PostgresServer } from '@askback/store-postgres/testing'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { newFolder } from '../e2e/http/command.js'
import { run, serve } from '../e2e/http/gateways.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
  await sql(`CREATE ROLE guest LOGIN PASSWORD 'open sesame'`)
})
afterAll(() => server.remove())

const guest = { user: 'guest', password: 'open sesame' }

it.each<[string, () => Promise<string> | string, RegExp]>([
  ['is of another kind', () => 'mysql://host/x', /must be like postgres:\/\/user:password@host:5432\/name\./],
  [
    'does not answer',
    () => 'postgres://127.0.0.1:1/x',
    /does not answer: start PostgreSQL there, or correct/,
  ],
  [
    'refuses the password',
    () => server.url({ ...guest, password: 'knock' }),
    /refuses the password: correct it in the address, or set PGPASSWORD/,
  ],
  ['is not there', () => server.url({ database: 'nowhere' }), /does not exist: create it with createdb/],
  ['gives too few rights', () => server.url(guest), /too few rights: grant it CREATE on the database/],
  [
    'is of a newer version',
    () => database('newer', 'UPDATE askback.meta SET value = 99'),
    /is of version 99, made by a newer Askback; this one knows versions up to \d+: update it/,
  ],
  [
    'is half migrated',
    () => database('half', 'DROP TABLE askback.kv'),
    /is half migrated: it lacks kv\. Restore it from a backup, or drop it/,
  ],
  ['never replies', silentServer, /does not answer: check the address and the network/],
])('a database that %s prevents the start with one sentence', async (_what, url, message) => {
  expect(await startError(await url())).toMatch(message)
})

it('a server lost at any point of the start ends it with one sentence', async () => {
  const url = await database('away', 'SELECT 1')
  const errors = [1, 3, 8, 14].map(async (packets) => startError(await lostAfter(url, packets)))
  for (const error of await Promise.all(errors))
    expect(error).toMatch(/^The database \S+ (ended the connection: see its log|does not answer)/)
  const gateway = await serve({ args: ['--store', url] })
  expect((await gateway.call('GET', '/api/sessions')).status).toBe(200)
})

/** The output of a start that fails: one sentence, without a password, and nothing on stdout. */
async function startError(url: string): Promise<string> {
  const command = run(['serve', '--port', '0', '--data', newFolder(), '--json', '--store', url])
  expect((await command.ended).code).not.toBe(0)
  expect(command.stderr.trimEnd().split('\n')).toHaveLength(1)
  expect(command.stderr).not.toMatch(/sesame|knock/)
  expect(command.stdout).toBe('')
  return command.stderr
}

/** A database of Askback that somebody has changed. */
async function database(name: string, change: string): Promise<string> {
  await sql(`CREATE DATABASE ${name}`)
  const url = server.url({ database: name })
  const gateway = await serve({ args: ['--store', url] })
  await gateway.stop('SIGTERM')
  await sql(change, url)
  return url
}

/** A server that accepts connections and never replies. */
function silentServer(): Promise<string> {
  return listen(() => undefined, 'postgres://127.0.0.1/x')
}

/** A proxy to the database that closes all connections after so many packets. */
function lostAfter(url: string, packets: number): Promise<string> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let left = packets
  return listen((socket) => {
    const upstream = connect(Number(port), hostname)
    for (const one of [socket, upstream]) {
      sockets.add(one)
      one.on('error', () => undefined)
    }
    if (left <= 0) return void socket.destroy()
    socket.on('data', () => {
      if (--left <= 0) for (const one of sockets) one.destroy()
    })
    socket.pipe(upstream).pipe(socket)
  }, url)
}

async function listen(accept: (socket: Socket) => void, url: string): Promise<string> {
  const sockets: Socket[] = []
  const proxy = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    accept(socket)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  const proxyUrl = new URL(url)
  proxyUrl.port = String((proxy.address() as AddressInfo).port)
  return proxyUrl.href
}

async function sql(text: string, url = server.url()): Promise<void> {
  const client = new Client(url)
  await client.connect()
  await client.query(text)
  await client.end()
}
