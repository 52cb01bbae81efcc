// The cost of 10,000 sessions with one pending interaction each: an inbox page, the process, a round trip.
import { interleave, median, report } from '../core/measure.mjs'
import { inFolder } from '../core/workload.mjs'
import { Connection } from './connection.mjs'
import { createSessions, medianTrip, Pair, park } from './round-trips.mjs'
import { residentBytes, startGateway } from './servers.mjs'

/** @import { Server } from './servers.mjs' */

const MANY = 10_000
const FEW = 100
const PAGES = 100
const TRIPS = 300

/** @param {Server} server */
async function medianPage({ url, token }) {
  const connection = new Connection(url)
  const took = []
  for (let page = 0; page < PAGES; page++) {
    const started = performance.now()
    await connection.request('GET', '/api/interactions?status=pending&limit=100', { token })
    took.push(performance.now() - started)
  }
  connection.close()
  return median(took)
}

/**
 * Starts a gateway with `count` pending questions, and one more session.
 *
 * @param {string} folder
 * @param {number} count
 */
async function gatewayWith(folder, count) {
  const server = await startGateway(folder)
  await park(server, await createSessions(server, count))
  const [sessionId = ''] = await createSessions(server, 1)
  return { server, sessionId }
}

await inFolder(async (folder) => {
  const many = await gatewayWith(`${folder}/many`, MANY)
  const bytes = residentBytes(many.server)
  const few = await gatewayWith(`${folder}/few`, FEW)
  const none = await gatewayWith(`${folder}/none`, 0)
  const prepare = async () => undefined
  const page = await interleave({
    prepare,
    a: () => medianPage(many.server),
    b: () => medianPage(few.server),
  })
  const [here, there] = await Promise.all(
    [many, none].map(({ server, sessionId }) => Pair.open(server, sessionId)),
  )
  if (!here || !there) throw new Error('There are no pairs.')
  const trip = await interleave({
    prepare,
    a: () => medianTrip(here, TRIPS),
    b: () => medianTrip(there, TRIPS),
  })
  report([
    { what: 'an inbox page of 10,000 pending / of 100', value: page.ratio, atMost: 2 },
    {
      what: '10,000 sessions with one pending each: the process',
      value: bytes / 2 ** 20,
      unit: ' MB',
      atMost: 200,
    },
    { what: 'round trip with 10,000 parked / with none', value: trip.ratio, atMost: 1.3 },
  ])
  if (process.env['BENCH_VERBOSE']) console.log({ page, trip, after: residentBytes(many.server) / 2 ** 20 })
  for (const pair of [here, there]) pair.close()
  for (const { server } of [many, few, none]) await server.stop()
})
