import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Gateway } from '../gateway.js'
import { passOn } from './express.js'
import { checkPrefix, withoutPrefix } from './mount.js'
import { routeUpgrades } from './upgrades.js'

/** A plugin for `app.register` of Fastify. */
export type FastifyPlugin = (instance: FastifyInstance) => Promise<void>

/** A plugin that hands every request under its prefix to the gateway. It serves WebSockets, too. */
export function fastifyPlugin(
  gateway: Promise<Gateway>,
  onDetach: (detach: () => void) => void,
): FastifyPlugin {
  return async (instance) => {
    const prefix = checkPrefix(instance.prefix.replace(/\/$/, ''))
    // The gateway reads and checks bodies itself.
    instance.removeAllContentTypeParsers()
    instance.addContentTypeParser('*', (_request, _payload, done) => done(null))
    const handler = (request: FastifyRequest, reply: FastifyReply) => {
      const { raw } = request
      reply.hijack()
      raw.url = withoutPrefix(raw.url ?? '', prefix) ?? raw.url
      const mount = { prefix, source: request, upgrades: true }
      passOn(gateway, { request: raw, response: reply.raw, mount })
    }
    for (const url of ['/', '/*'])
      instance.route({ method: ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS'], url, handler })
    onDetach(routeUpgrades(instance.server))
    // What is open would keep the server from closing.
    instance.addHook('preClose', async () => (await gateway).drain())
  }
}
