// Reading an interaction over 64 connections, against node:http that sends the same body.
import { interleave, report, timed } from '../core/measure.mjs'
import { inFolder } from '../core/workload.mjs'
import { Connection } from './connection.mjs'
import { createSessions, park } from './round-trips.mjs'
import { startGateway, startBareServer } from './servers.mjs'

const CONNECTIONS = 64
const EACH = 15
/** Short turns, so that other work of the machine affects both sides equally. */
const TURNS = 10

/**
 * @param {Connection[]} connections
 * @param {{ path: string; token: string }} target
 */
function readAll(connections, { path, token }) {
  return timed(() =>
    Promise.all(
      connections.map(async (connection) => {
        for (let read = 0; read < EACH; read++) await connection.request('GET', path, { token })
      }),
    ),
  )
}

await inFolder(async (folder) => {
  const gateway = await startGateway(`${folder}/gateway`)
  const raw = await startBareServer('raw', folder)
  const { token } = gateway
  const [sessionId = ''] = await createSessions(gateway, 1)
  await park(gateway, [sessionId])
  const here = Array.from({ length: CONNECTIONS }, () => new Connection(gateway.url))
  const there = Array.from({ length: CONNECTIONS }, () => new Connection(raw.url))
  const [first, other] = [here[0], there[0]]
  if (!first || !other) throw new Error('There are no connections.')
  const inbox = await first.request('GET', '/api/interactions', { token })
  const interactionId = /"interactionId":"([^"]+)"/.exec(inbox)?.[1]
  const target = { path: `/api/sessions/${sessionId}/interactions/${interactionId}`, token }
  await other.request('POST', '/body', { body: { text: await first.request('GET', target.path, { token }) } })
  const { a, b, ratio } = await interleave({
    turns: TURNS,
    prepare: async () => undefined,
    a: () => readAll(here, target),
    b: () => readAll(there, target),
  })
  report([
    { what: 'reading an interaction, 64 connections: rate / node:http', value: 1 / ratio, atLeast: 0.5 },
  ])
  if (process.env['BENCH_VERBOSE']) {
    const rate = (/** @type {number} */ ms) => (CONNECTIONS * EACH * TURNS * 1000) / ms
    console.log({ rate: rate(a), raw: rate(b) })
  }
  for (const connection of [...here, ...there]) connection.close()
  await gateway.stop()
  await raw.stop()
})
