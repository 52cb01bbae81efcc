// One durable event to 1,000 SSE clients, against node:http that writes a prepared frame; and the memory of 5,000 clients.
import { interleave, median, report, timed } from '../core/measure.mjs'
import { inFolder } from '../core/workload.mjs'
import { Connection } from './connection.mjs'
import { createSessions } from './round-trips.mjs'
import { residentBytes, startGateway, startBareServer } from './servers.mjs'
import { openClients } from './sse-reader.mjs'

/** @import { Server } from './servers.mjs' */

const CLIENTS = 1000
const EVENTS = 60
const MANY = 5000
const text = 'A message of a length that messages have. '.repeat(10)

/**
 * Publishes events one after the other, each when all clients have the one before.
 *
 * @param {ReturnType<typeof openClients>} clients
 * @param {() => Promise<unknown>} publish
 */
function publishAll(clients, publish) {
  return timed(async () => {
    const { frames } = clients.received
    for (let event = 1; event <= EVENTS; event++) {
      await Promise.all([publish(), clients.until('frames', frames + event * CLIENTS)])
    }
  })
}

/** @param {string} folder */
async function compareRates(folder) {
  const gateway = await startGateway(`${folder}/gateway`)
  const raw = await startBareServer('raw', folder)
  const { token } = gateway
  const [sessionId = ''] = await createSessions(gateway, 1)
  const here = openClients(gateway.url, { path: `/api/sessions/${sessionId}/events`, token }, CLIENTS)
  const there = openClients(raw.url, { path: '/stream' }, CLIENTS)
  const [person, publisher] = [new Connection(gateway.url), new Connection(raw.url)]
  await here.until('frames', CLIENTS)
  await there.until('opened', CLIENTS)
  const say = () => person.request('POST', `/api/sessions/${sessionId}/messages`, { token, body: { text } })
  const event = {
    seq: 1000,
    id: 'x'.repeat(22),
    sessionId,
    at: Date.now(),
    type: 'user_message',
    text,
    by: { id: 'owner', name: 'owner' },
  }
  const frame = { text: `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n` }
  const costs = await interleave({
    prepare: async () => undefined,
    a: () => publishAll(here, say),
    b: () => publishAll(there, () => publisher.request('POST', '/publish', { body: frame })),
  })
  if (process.env['BENCH_VERBOSE']) {
    console.log({ here: (EVENTS * CLIENTS * 1000) / costs.a, raw: (EVENTS * CLIENTS * 1000) / costs.b })
  }
  for (const one of [here, there, person, publisher]) one.close()
  await gateway.stop()
  await raw.stop()
  return 1 / costs.ratio
}

/** @param {string} folder */
async function bytesPerClient(folder) {
  const gateway = await startGateway(folder)
  const { token } = gateway
  const [sessionId = ''] = await createSessions(gateway, 1)
  const path = `/api/sessions/${sessionId}/events`
  // The first clients also cost what is allocated only once.
  const first = openClients(gateway.url, { path, token }, 100)
  await first.until('frames', 100)
  const before = residentBytes(gateway)
  const all = openClients(gateway.url, { path, token }, MANY)
  await all.until('frames', MANY)
  const person = new Connection(gateway.url)
  await person.request('POST', `/api/sessions/${sessionId}/messages`, { token, body: { text } })
  await all.until('frames', 2 * MANY)
  const bytes = (residentBytes(gateway) - before) / MANY
  for (const one of [first, all, person]) one.close()
  await gateway.stop()
  return bytes
}

await inFolder(async (folder) => {
  const rate = await compareRates(folder)
  const sizes = []
  for (let round = 0; round < 5; round++) sizes.push(await bytesPerClient(`${folder}/${round}`))
  report([
    {
      what: 'one event to 1,000 SSE clients: rate / node:http with a ready frame',
      value: rate,
      atLeast: 0.7,
    },
    { what: '5,000 SSE clients: memory each', value: median(sizes) / 1024, unit: ' KB', atMost: 40 },
  ])
})
