// The processor for each answer: two gateways beside one.
import { startPostgres } from '@askback/store-postgres/testing'
import { median, report } from '../core/measure.mjs'
import { answer, question, startGateway } from './gateway.mjs'

const ROUNDS = 5
/** For each gateway. */
const SESSIONS = 32
const EACH = 12

const server = await startPostgres({ durable: true })

/** @typedef {Awaited<ReturnType<typeof startGateway>>} Gateway */

/**
 * @param {Gateway[]} gateways
 * @param {0 | 1} away Whether answers come in at another gateway than the one that asked.
 */
async function load(gateways, away = 0) {
  const sessions = SESSIONS * gateways.length
  const before = gateways.reduce((sum, gateway) => sum + gateway.cpu(), 0)
  await Promise.all(
    Array.from({ length: sessions }, async (_, index) => {
      const asker = /** @type {Gateway} */ (gateways[index % gateways.length])
      const person = /** @type {Gateway} */ (gateways[(index + away) % gateways.length])
      const { session } = await asker.call('POST', '/api/sessions', {
        body: { agent: null },
        as: asker.agentToken,
      })
      const path = `/api/sessions/${session.id}/interactions`
      for (let turn = 0; turn < EACH; turn++) {
        const { interaction } = await asker.call('POST', path, { body: question, as: asker.agentToken })
        const at = `${path}/${interaction.interactionId}`
        const waiting = asker.call('GET', `${at}?wait=30`, { as: asker.agentToken })
        await person.call('POST', `${at}/response`, { body: answer })
        await waiting
      }
    }),
  )
  return (gateways.reduce((sum, gateway) => sum + gateway.cpu(), 0) - before) / (sessions * EACH)
}

const one = await startGateway(server.url())
const two = [one, await startGateway(server.url())]
const same = []
const across = []
for (let round = -2; round < ROUNDS; round++) {
  const cost = { two: await load(two), one: await load([one]), away: await load(two, 1) }
  if (round < 0) continue
  same.push(cost.two / cost.one)
  across.push(cost.away / cost.one)
}
await Promise.all(two.map((gateway) => gateway.stop()))
await server.remove()
report([
  {
    what: 'processor for each answer, two gateways against one',
    value: median(same),
    unit: '×',
    atMost: 1.1,
  },
  { what: 'the same, every answer on the other gateway', value: median(across), unit: '×' },
])
