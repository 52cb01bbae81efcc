import { leasesContract, sharedDeskContract, storeContract } from '@askback/core/testing'
import { Client } from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { postgresStore } from './index.js'
import { tableNames } from './schema.js'
import { startPostgres, type PostgresServer } from './testing/index.js'

let server: PostgresServer
let admin: Client

beforeAll(async () => {
  server = await startPostgres()
  admin = new Client(server.url())
  await admin.connect()
  await (await open()).close()
})
afterAll(async () => {
  await admin.end()
  await server.remove()
})

const open = () => postgresStore({ url: server.url(), connections: 2 })
const filled = [...tableNames, 'locks'].filter((name) => name !== 'meta').map((name) => `askback.${name}`)

storeContract(
  'the PostgreSQL store',
  async () => {
    await admin.query(filled.map((table) => `DELETE FROM ${table}`).join('; '))
    return open()
  },
  { hasLocks: true },
)

let schemas = 0
const openShared = () => {
  const schema = `shared ${schemas++}`
  const openStore = () => postgresStore({ url: server.url(), schema, connections: 2 })
  return Promise.all([openStore(), openStore()])
}
leasesContract('PostgreSQL', openShared)
sharedDeskContract('PostgreSQL', openShared)
