import { AskbackError } from '@askback/protocol'
import { z } from 'zod'
import type { GatewayContext } from '../context.js'
import { route, type Route } from '../route.js'

const status = z.object({ status: z.string() })

export function healthRoutes({ host, drain }: GatewayContext): Route[] {
  let ready = false
  host.ready.then(
    () => (ready = true),
    // Said in the log by the host itself; it stays not ready.
    () => undefined,
  )
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
      summary: 'Whether it takes work: not before it has taken up where it stopped, and not while it stops',
      answers: { 200: status },
      handle() {
        if (drain.started) throw new AskbackError('unavailable', 'This gateway is stopping.')
        if (!ready) throw new AskbackError('unavailable', 'This gateway is starting.')
        return { status: 200, body: { status: 'ready' } }
      },
    }),
  ]
}
