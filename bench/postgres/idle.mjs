// The statements that an idle gateway sends.
import { startPostgres } from '@askback/store-postgres/testing'
import { Client } from 'pg'
import { report } from '../core/measure.mjs'
import { question, startGateway } from './gateway.mjs'

const IDLE_SESSIONS = 2000
const IDLE_SECONDS = 20

const server = await startPostgres({
  durable: true,
  settings: ['shared_preload_libraries=pg_stat_statements'],
})
const client = new Client(server.url())
await client.connect()
await client.query('CREATE EXTENSION pg_stat_statements')
const gateway = await startGateway(server.url())
for (let made = 0; made < IDLE_SESSIONS; made += 50) {
  await Promise.all(
    Array.from({ length: 50 }, async () => {
      const { session } = await gateway.call('POST', '/api/sessions', {
        body: { agent: null },
        as: gateway.agentToken,
      })
      await gateway.call('POST', `/api/sessions/${session.id}/interactions`, {
        body: question,
        as: gateway.agentToken,
      })
    }),
  )
}
await client.query('SELECT pg_stat_statements_reset()')
await new Promise((resolve) => setTimeout(resolve, IDLE_SECONDS * 1000))
/** @type {import('pg').QueryResult<{ calls: string }>} */
const { rows } = await client.query('SELECT sum(calls) AS calls FROM pg_stat_statements')
const perSecond = Number(rows[0]?.calls) / IDLE_SECONDS
await gateway.stop()

await client.end()
await server.remove()
report([
  {
    what: `statements a second, one gateway with ${IDLE_SESSIONS} idle sessions`,
    value: perSecond,
    atMost: 5,
  },
])
