import { AskbackError } from '@askback/protocol/errors'
import type { Session } from '@askback/protocol'
import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import type { Gateway } from '../reach/gateway.js'

/** More deletions than anyone makes by hand. */
const MOST_DELETED = 100

export interface Place {
  sessionId: string
  /** Nobody reports tool calls there, so there is none to wait for. */
  withoutCalls?: true
}

/** The session to ask in: the named one, that of the agent whose shell this is, or one for the folder. */
export async function placeToAsk(
  gateway: Gateway,
  named: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<Place> {
  const given = named ?? env['ASKBACK_SESSION']
  if (given) return { sessionId: given }
  const cwd = process.cwd()
  const { CODEX_THREAD_ID: codex, CLAUDE_CODE_SESSION_ID: claude } = env
  if (codex) return { sessionId: await outsideSession(gateway, `codex ${codex}`, cwd) }
  // The same as that of its hooks, which record the call that this runs in.
  if (claude) return { sessionId: await outsideSession(gateway, `claude-code ${claude}`, cwd) }
  return { sessionId: await outsideSession(gateway, `folder ${cwd}`, cwd), withoutCalls: true }
}

/** Always the same session for the same `whose`, made when there is none. */
export async function outsideSession(gateway: Gateway, whose: string, cwd: string): Promise<string> {
  const body = { agent: null, cwd, title: basename(cwd) || cwd }
  const key = createHash('sha256').update(whose).digest('hex')
  for (let deleted = 0; ; deleted += 1) {
    try {
      const { session } = await gateway.json<{ session: Session }>({
        method: 'POST',
        path: '/api/sessions',
        body,
        headers: { 'idempotency-key': deleted === 0 ? key : `${key}.${deleted}` },
      })
      return session.id
    } catch (error) {
      if (!(error instanceof AskbackError)) throw error
      // It was made from another folder of the same agent.
      if (error.code === 'idempotency_mismatch') return (error.details as { sessionId: string }).sessionId
      // The key outlives the session it made: after a deletion the next one is made under the next key.
      if (error.code !== 'not_found' || deleted === MOST_DELETED) throw error
    }
  }
}
