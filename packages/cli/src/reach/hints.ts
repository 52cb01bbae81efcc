import { AskbackError } from '@askback/protocol/errors'
import type { Role } from './connection.js'

/** What the gateway says, and what to do about it at a command line. */
export function withHint(
  error: AskbackError,
  { role, path, body }: { role: Role; path: string; body?: unknown },
): AskbackError {
  const hint = hintFor(error, role, namesInteraction(path, body))
  const { code, message, details } = error
  return hint === null ? error : new AskbackError(code, `${message} ${hint}`, { details })
}

function hintFor({ code }: AskbackError, role: Role, isInteraction: boolean | null): string | null {
  if (code === 'unauthorized')
    return role === 'agent'
      ? 'Set ASKBACK_AGENT_TOKEN to a token of this gateway; askback token agent prints one.'
      : 'Set ASKBACK_TOKEN to your token of this gateway, or unset it to use the gateway that runs here.'
  // An agent may not list what others have asked.
  if (code !== 'not_found' || role === 'agent' || isInteraction === null) return null
  return isInteraction ? 'askback pending lists what waits.' : 'askback sessions lists them.'
}

/** `null` where neither a session nor an interaction was named. */
function namesInteraction(path: string, body: unknown): boolean | null {
  if (/^\/api\/interactions\/./.test(path)) return true
  if (!/^\/api\/sessions\/./.test(path)) return null
  return (
    /\/interactions\//.test(path) || (typeof body === 'object' && body !== null && 'interactionId' in body)
  )
}
