import { AskbackError } from '@askback/protocol'
import { randomKey } from '../transport/transport.js'
import type { Askback } from './askback.js'
import { DeskPort, type DeskTarget } from './desk-port.js'
import { GATEWAY_OPTIONS, GatewayPort, type GatewayTarget } from './gateway-port.js'
import { checkOptionNames } from './option-names.js'
import { pendingRequests } from './pending-requests.js'
import { PortSession } from './port-session.js'

/**
 * Connects a program that asks people to a gateway, or to a desk in the same process: the calls are the same. It makes no request by
 * itself, so a wrong address or token shows at the first call.
 *
 * @example
 * const askback = connect({ url: 'http://127.0.0.1:4100', token: process.env.ASKBACK_AGENT_TOKEN })
 * const near = connect({ desk: createDesk({ store: memoryStore() }) })
 */
export function connect(target: GatewayTarget | DeskTarget): Askback {
  const port = portTo(target)
  const closing = new AbortController()
  const { signal: closed } = closing
  const until = (signal?: AbortSignal) => AbortSignal.any(signal ? [signal, closed] : [closed])
  return {
    session: (session, options = {}) => new PortSession(port, session, options, closed),
    async *requests(options = {}) {
      checkOptionNames(options, ['signal'], 'requests()')
      yield* pendingRequests(port, until(options.signal))
      closed.throwIfAborted()
    },
    async respond(request, answer, options = {}) {
      checkOptionNames(options, ['signal'], 'respond()')
      return port.respond(request, answer, { idempotencyKey: randomKey(), signal: until(options.signal) })
    },
    close: () => closing.abort(new AskbackError('unavailable', 'This connection was closed.')),
  }
}

function portTo(target: GatewayTarget | DeskTarget): GatewayPort | DeskPort {
  // Not checked for other names: a host, and whatever else has a desk, is taken as it is.
  if (typeof target === 'object' && target !== null && 'desk' in target) return new DeskPort(target)
  checkOptionNames(target, GATEWAY_OPTIONS, 'connect()')
  if (typeof target.url !== 'string' || !URL.canParse(target.url))
    throw new AskbackError('invalid_request', 'connect() needs a url, such as "http://127.0.0.1:4100".')
  if (typeof target.token !== 'string' || target.token === '')
    throw new AskbackError('invalid_request', 'connect() needs a token: that of an agent, or of a person.')
  return new GatewayPort(target)
}
