// The processor for each answer: two gateways beside one, at a pace that leaves the machine room. At full load two programs
// on the same cores take more time for the same work, whether they know of each other or not.
import { startPostgres } from '@askback/store-postgres/testing'
import { Client } from 'pg'
import { median, report } from '../core/measure.mjs'
import { answer, question, startGateway } from './gateway.mjs'

const ROUNDS = 5
const WARM_UP = 2
/** For each gateway: so many sessions, each with a question in that time. */
const SESSIONS = 8
const EVERY_MS = 200
const EACH = 20

/** @typedef {Awaited<ReturnType<typeof startGateway>>} Gateway */

const server = await startPostgres({ durable: true })
const client = new Client(server.url())
await client.connect()
await client.query('CREATE DATABASE apart')
await client.end()

/**
 * @param {Gateway[]} gateways
 * @param {0 | 1} away Whether answers come in at another gateway than the one that asked.
 * @returns {Promise<number>} Milliseconds for each answer, of all these gateways.
 */
async function load(gateways, away = 0) {
  const sessions = SESSIONS * gateways.length
  const before = gateways.reduce((sum, gateway) => sum + gateway.cpu(), 0)
  await Promise.all(
    Array.from({ length: sessions }, async (_, index) => {
      const asker = /** @type {Gateway} */ (gateways[index % gateways.length])
      const person = /** @type {Gateway} */ (gateways[(index + away) % gateways.length])
      await pause((EVERY_MS * index) / sessions)
      const { session } = await asker.call('POST', '/api/sessions', {
        body: { agent: null },
        as: asker.agentToken,
      })
      const path = `/api/sessions/${session.id}/interactions`
      for (let turn = 0; turn < EACH; turn++) {
        const next = pause(EVERY_MS)
        const { interaction } = await asker.call('POST', path, { body: question, as: asker.agentToken })
        const at = `${path}/${interaction.interactionId}`
        const waiting = asker.call('GET', `${at}?wait=30`, { as: asker.agentToken })
        await person.call('POST', `${at}/response`, { body: answer })
        await Promise.all([waiting, next])
      }
    }),
  )
  return (gateways.reduce((sum, gateway) => sum + gateway.cpu(), 0) - before) / (sessions * EACH)
}

/** @param {number} ms */
function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

const one = await startGateway(server.url())
const other = await startGateway(server.url())
const apart = await startGateway(server.url({ database: 'apart' }))
/** @type {{ two: number; apart: number; away: number; one: number }[]} */
const costs = []
for (let round = -WARM_UP; round < ROUNDS; round++) {
  const cost = {
    one: await load([one]),
    two: await load([one, other]),
    apart: await load([one, apart]),
    away: await load([one, other], 1),
  }
  if (round >= 0) costs.push(cost)
}
await Promise.all([one, other, apart].map((gateway) => gateway.stop()))
await server.remove()
const against = (/** @type {'two' | 'apart' | 'away'} */ what) =>
  median(costs.map((cost) => cost[what] / cost.one))
report([
  {
    what: 'processor for each answer, two gateways against one',
    value: against('two'),
    unit: '×',
    atMost: 1.1,
  },
  { what: 'the same, each with a database of its own', value: against('apart'), unit: '×' },
  { what: 'the same, every answer on the other gateway', value: against('away'), unit: '×' },
  { what: 'the same, one gateway', value: median(costs.map((cost) => cost.one)), unit: ' ms' },
])
