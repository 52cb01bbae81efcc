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

const as = { user: 'guest', password: 'open sesame' }

it.each<[string, () => Promise<string> | string, RegExp]>([
  ['is of another kind', () => 'mysql://host/x', /must be like postgres:\/\/user:password@host:5432\/name\./],
  [
    'does not answer',
    () => 'postgres://127.0.0.1:1/x',
    /does not answer: start PostgreSQL there, or correct/,
  ],
  [
    'refuses the password',
    () => server.url({ ...as, password: 'knock' }),
    /refuses the password: correct it in the address, or set PGPASSWORD/,
  ],
  ['is not there', () => server.url({ database: 'nowhere' }), /does not exist: create it with createdb/],
  ['gives too few rights', () => server.url(as), /too few rights: grant it CREATE on the database/],
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
  ['never says a word', silent, /does not answer: check the address and the network/],
])('a database that %s ends the start with one sentence', async (_what, url, message) => {
  expect(await refusalOf(await url())).toMatch(message)
})

it('a server that goes away in the middle of the start ends it with one sentence, whenever that is', async () => {
  const url = await database('away', 'SELECT 1')
  const refusals = [1, 3, 8, 14].map(async (packets) => refusalOf(await goingAway(url, packets)))
  for (const refusal of await Promise.all(refusals))
    expect(refusal).toMatch(/^The database \S+ (ended the connection: see its log|does not answer)/)
  const gateway = await serve({ args: ['--store', url] })
  expect((await gateway.call('GET', '/api/sessions')).status).toBe(200)
})

/** What a start says that fails: one sentence, without a secret, and nothing that looks like a gateway. */
async function refusalOf(url: string): Promise<string> {
  const command = run(['serve', '--port', '0', '--data', newFolder(), '--json', '--store', url])
  expect((await command.ended).code).not.toBe(0)
  expect(command.stderr.trimEnd().split('\n')).toHaveLength(1)
  expect(command.stderr).not.toMatch(/sesame|knock/)
  expect(command.stdout).toBe('')
  return command.stderr
}

/** One that Askback has made, and somebody has changed. */
async function database(name: string, change: string): Promise<string> {
  await sql(`CREATE DATABASE ${name}`)
  const url = server.url({ database: name })
  const gateway = await serve({ args: ['--store', url] })
  await gateway.stop('SIGTERM')
  await sql(change, url)
  return url
}

/** Takes connections, and nothing else. */
function silent(): Promise<string> {
  return listening(() => undefined, 'postgres://127.0.0.1/x')
}

/** Between a gateway and its database, up to so many packets. */
function goingAway(url: string, packets: number): Promise<string> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  let left = packets
  return listening((socket) => {
    const beyond = connect(Number(port), hostname)
    for (const one of [socket, beyond]) {
      sockets.add(one)
      one.on('error', () => undefined)
    }
    if (left <= 0) return void socket.destroy()
    socket.on('data', () => {
      if (--left <= 0) for (const one of sockets) one.destroy()
    })
    socket.pipe(beyond).pipe(socket)
  }, url)
}

async function listening(accept: (socket: Socket) => void, url: string): Promise<string> {
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
  const through = new URL(url)
  through.port = String((proxy.address() as AddressInfo).port)
  return through.href
}

async function sql(text: string, url = server.url()): Promise<void> {
  const client = new Client(url)
  await client.connect()
  await client.query(text)
  await client.end()
}
