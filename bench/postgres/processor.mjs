// CPU time per answer with two gateways against one, at a rate that leaves the machine partly idle. At full load two programs on the
// same cores need more time for the same work, even if they share nothing.
import { startPostgres } from '@askback/store-postgres/testing'
import { Client } from 'pg'
import { median, report } from '../core/measure.mjs'
import { answer, question, startGateway } from './gateway.mjs'

const ROUNDS = 5
const WARM_UP_ROUNDS = 2
/** Per gateway. Each session asks a question every `EVERY_MS`. */
const SESSIONS = 8
const EVERY_MS = 200
const QUESTIONS_PER_SESSION = 20

/** @typedef {Awaited<ReturnType<typeof startGateway>>} Gateway */

const server = await startPostgres({ durable: true })
const client = new Client(server.url())
await client.connect()
await client.query('CREATE DATABASE apart')
await client.end()

/**
 * @param {Gateway[]} gateways
 * @param {0 | 1} away 1 if questions are answered at another gateway than they are asked.
 * @returns {Promise<number>} CPU milliseconds of all gateways per answer.
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
      for (let turn = 0; turn < QUESTIONS_PER_SESSION; turn++) {
        const next = pause(EVERY_MS)
        const { interaction } = await asker.call('POST', path, { body: question, as: asker.agentToken })
        const at = `${path}/${interaction.interactionId}`
        const waiting = asker.call('GET', `${at}?wait=30`, { as: asker.agentToken })
        await person.call('POST', `${at}/response`, { body: answer })
        await Promise.all([waiting, next])
      }
    }),
  )
  return (
    (gateways.reduce((sum, gateway) => sum + gateway.cpu(), 0) - before) / (sessions * QUESTIONS_PER_SESSION)
  )
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
for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
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
