import { AskbackError } from '@askback/protocol'
import * as z from 'zod'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { SECURITY_HEADERS } from '../http/responses.js'
import { PROMETHEUS_TYPE } from '../prometheus.js'
import { type GatewayContext, route, type ApiRoute } from '../route.js'
import { StoreProbe } from '../store-health.js'

const status = z.object({ status: z.string() })

export function healthRoutes({ host, store, clock, drain }: GatewayContext): ApiRoute[] {
  const probe = new StoreProbe(store, clock)
  let isReady = false
  void host.ready.then(() => (isReady = true))
  return [
    route({
      name: 'checkHealth',
      method: 'GET',
      path: '/healthz',
      allowed: 'anyone',
      action: 'public',
      summary: 'Liveness: succeeds while the process runs',
      responses: { 200: status },
      handle: () => ({ status: 200, body: { status: 'ok' } }),
    }),
    route({
      name: 'checkReadiness',
      method: 'GET',
      path: '/readyz',
      allowed: 'anyone',
      action: 'public',
      summary: 'Readiness: fails while the gateway starts or stops, or its store cannot be read or written',
      responses: { 200: status },
      async handle() {
        if (drain.started) throw new AskbackError('unavailable', 'This gateway is stopping.')
        if (!isReady) throw new AskbackError('unavailable', 'This gateway is starting.')
        await probe.check()
        return { status: 200, body: { status: 'ready' } }
      },
    }),
  ]
}

export function metricsRoutes({ metrics }: GatewayContext): ApiRoute[] {
  return [
    route({
      name: 'readMetrics',
      method: 'GET',
      path: '/api/metrics',
      allowed: 'person',
      action: 'administer',
      summary: 'Metrics for Prometheus',
      responses: { 200: { description: 'The text format of Prometheus', types: ['text/plain'] } },
      async handle({ reply }) {
        const text = await metrics.text()
        void reply
          .headers({ ...SECURITY_HEADERS, 'content-type': PROMETHEUS_TYPE, 'cache-control': 'no-store' })
          .send(text)
        return { handled: true }
      },
    }),
  ]
}

/** The database as one file. Only the first person may read it, because it contains the secret that signs the tokens of agents. */
export function backupRoutes({ store, credentials }: GatewayContext): ApiRoute[] {
  return [
    route({
      name: 'downloadBackup',
      method: 'GET',
      path: '/api/backup',
      allowed: 'person',
      action: 'administer',
      ownPagesOnly: true,
      summary:
        'Returns a consistent copy of the database to the owner of the gateway; `askback backup` verifies it',
      responses: { 200: { description: 'An SQLite database', types: ['application/octet-stream'] } },
      async handle({ credential, reply }) {
        if (!credentials.isOwner(credential))
          throw new AskbackError('forbidden', 'Only the person whose gateway this is may copy its database.')
        if (!store.copy) {
          throw new AskbackError(
            'invalid_request',
            'This gateway keeps its data in no file of its own: back up PostgreSQL with pg_dump, and restore it with pg_restore.',
          )
        }
        await store.copy(async ({ bytes, chunks }) => {
          reply.hijack()
          const { raw } = reply
          raw.writeHead(200, {
            ...SECURITY_HEADERS,
            'content-type': 'application/octet-stream',
            'content-length': bytes,
            'cache-control': 'no-store',
          })
          // If it fails halfway, the response is shorter than its content-length, which the client notices. The headers are sent, so
          // no other error can be reported.
          await pipeline(Readable.from(chunks, { objectMode: false }), raw).catch(() => undefined)
        })
        return { handled: true }
      },
    }),
  ]
}
