import { sessionCredential, type AgentCredential } from './credential.js'
import { macOf, sameText } from './secrets.js'

const PREFIX = 'askback_session_'

/** Made from the session's id and a secret, so that none of them needs to be kept. */
export function sessionToken(secret: string, sessionId: string): string {
  return `${PREFIX}${sessionId}.${macOf(secret, `session ${sessionId}`)}`
}

export function findSession(secret: string, token: string): AgentCredential | null {
  if (!token.startsWith(PREFIX)) return null
  const sessionId = token.slice(PREFIX.length, token.lastIndexOf('.'))
  return sameText(token, sessionToken(secret, sessionId)) ? sessionCredential(sessionId) : null
}
