import type { GatewayContext } from '../context.js'
import { SECURITY_HEADERS } from '../http/answers.js'
import { route, type Route } from '../route.js'

export function metricsRoutes({ metrics: { registry } }: GatewayContext): Route[] {
  return [
    route({
      name: 'metrics',
      method: 'GET',
      path: '/api/metrics',
      who: 'person',
      summary: 'Numbers for Prometheus',
      answers: { 200: { description: 'The text format of Prometheus', type: 'text/plain' } },
      async handle({ reply }) {
        const text = await registry.metrics()
        void reply
          .headers({ ...SECURITY_HEADERS, 'content-type': registry.contentType, 'cache-control': 'no-store' })
          .send(text)
        return { handled: true }
      },
    }),
  ]
}
