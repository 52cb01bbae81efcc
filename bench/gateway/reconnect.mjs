// 1,000 clients that reconnect at the same time with the same Last-Event-ID, against node:http that sends the same bytes.
import { interleave, report, timed } from '../core/measure.mjs'
import { inFolder } from '../core/workload.mjs'
import { Connection } from './connection.mjs'
import { createSessions } from './round-trips.mjs'
import { startGateway, startBareServer } from './servers.mjs'
import { openClients } from './sse-reader.mjs'

const CLIENTS = 1000
const LOGGED = 400
const MISSED = 100
const text = 'A message of a length that messages have. '.repeat(10)

/**
 * Measures until every client has everything that it missed.
 *
 * @param {string} url
 * @param {Parameters<typeof openClients>[1]} request
 * @param {number} bytes
 */
async function reconnect(url, request, bytes) {
  /** @type {ReturnType<typeof openClients> | undefined} */
  let clients
  const took = await timed(async () => {
    clients = openClients(url, request, CLIENTS)
    await clients.until('bytes', CLIENTS * bytes)
  })
  clients?.close()
  return took
}

/**
 * @param {string} url
 * @param {Parameters<typeof openClients>[1]} request
 */
async function missedBytes(url, request) {
  const one = openClients(url, request, 1)
  await one.until('frames', MISSED)
  one.close()
  return one.received.bytes
}

await inFolder(async (folder) => {
  const gateway = await startGateway(`${folder}/gateway`)
  const raw = await startBareServer('raw', folder)
  const { token } = gateway
  const [sessionId = ''] = await createSessions(gateway, 1)
  const [person, publisher] = [new Connection(gateway.url), new Connection(raw.url)]
  for (let said = 1; said < LOGGED; said++) {
    await person.request('POST', `/api/sessions/${sessionId}/messages`, { token, body: { text } })
  }
  const request = { path: `/api/sessions/${sessionId}/events`, token, lastEventId: LOGGED - MISSED }
  const bytes = await missedBytes(gateway.url, request)
  await publisher.request('POST', '/replay', { body: { text: 'x'.repeat(bytes) } })
  const { a, b, ratio } = await interleave({
    prepare: async () => undefined,
    a: () => reconnect(gateway.url, request, bytes),
    b: () => reconnect(raw.url, { path: '/replay' }, bytes),
  })
  report([
    {
      what: '1,000 clients come back with Last-Event-ID: time / node:http that replays',
      value: ratio,
      atMost: 3,
    },
  ])
  if (process.env['BENCH_VERBOSE']) console.log({ bytes, here: a, raw: b })
  for (const one of [person, publisher]) one.close()
  await gateway.stop()
  await raw.stop()
})
