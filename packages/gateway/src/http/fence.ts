import type { Fence } from '@askback/core'
import type { GatewayContext } from '../context.js'
import type { Credential } from '../credentials/credential.js'

/**
 * A script in the shell of an agent writes as that agent does: nothing more, once another gateway runs the session. Scripts talk to
 * the gateway that started their agent, so that it is the one to know.
 */
export function fenceOf({ host }: GatewayContext, credential: Credential): Fence | undefined {
  if (credential.kind === 'person' || credential.sessionId === null) return undefined
  return host.fenceOf(credential.sessionId)
}
