import { leasesContract } from '@askback/core/testing'
import { afterAll, beforeAll } from 'vitest'
import { postgresStore } from './index.js'
import { startPostgres, type PostgresServer } from './testing/index.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

let schemas = 0
leasesContract('PostgreSQL', () => {
  const schema = `leases ${schemas++}`
  const open = () => postgresStore({ url: server.url(), schema, connections: 2 })
  return Promise.all([open(), open()])
})
