import { AskbackError } from '@askback/protocol'
import { z } from 'zod'
import type { GatewayContext } from '../context.js'
import { route, type Route } from '../route.js'
import { StoreProbe } from '../store-probe.js'

const status = z.object({ status: z.string() })

export function healthRoutes({ host, store, clock, drain }: GatewayContext): Route[] {
  const probe = new StoreProbe(store, clock)
  let ready = false
  void host.ready.then(() => (ready = true))
  return [
    route({
      name: 'health',
      method: 'GET',
      path: '/healthz',
      who: 'anyone',
      summary: 'Whether the process lives',
      answers: { 200: status },
      handle: () => ({ status: 200, body: { status: 'ok' } }),
    }),
    route({
      name: 'ready',
      method: 'GET',
      path: '/readyz',
      who: 'anyone',
      summary:
        'Whether it takes work: not while it starts or stops, or while its store cannot be read or written',
      answers: { 200: status },
      async handle() {
        if (drain.started) throw new AskbackError('unavailable', 'This gateway is stopping.')
        if (!ready) throw new AskbackError('unavailable', 'This gateway is starting.')
        await probe.check()
        return { status: 200, body: { status: 'ready' } }
      },
    }),
  ]
}
