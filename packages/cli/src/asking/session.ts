import { AskbackError } from '@askback/protocol/errors'
import { isRecord } from '@askback/protocol/guards'
import type { Session } from '@askback/protocol'
import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import type { GatewayClient } from '../reach/gateway-client.js'

/** A bound for the search below: nobody deletes the session of the same folder that often. */
const MAX_DELETED_SESSIONS = 100

/** The session in which a command asks. */
export interface AskingSession {
  sessionId: string
  /** No agent reports tool calls there, so the gateway need not wait for the call that asks. */
  withoutCalls?: true
}

/** Finds the session: the named one, the one of the agent in whose shell this runs, or else one for the folder. */
export async function findAskingSession(
  gateway: GatewayClient,
  named: string | undefined,
  env: NodeJS.ProcessEnv,
): Promise<AskingSession> {
  const given = named ?? env['ASKBACK_SESSION']
  if (given) return { sessionId: given }
  const cwd = process.cwd()
  const { CODEX_THREAD_ID: codex, CLAUDE_CODE_SESSION_ID: claude } = env
  if (codex) return { sessionId: await sessionFor(gateway, `codex ${codex}`, cwd) }
  // The hooks of Claude Code use the same session, and report there the call in which this runs.
  if (claude) return { sessionId: await sessionFor(gateway, `claude-code ${claude}`, cwd) }
  return { sessionId: await sessionFor(gateway, `folder ${cwd}`, cwd), withoutCalls: true }
}

/** Resolves to the same session for the same `owner`, which is created if it does not exist. */
export async function sessionFor(gateway: GatewayClient, owner: string, cwd: string): Promise<string> {
  const body = { agent: null, cwd, title: basename(cwd) || cwd }
  const key = createHash('sha256').update(owner).digest('hex')
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
      // The session exists and was created from another folder of the same agent.
      const existing = isRecord(error.details) ? error.details['sessionId'] : undefined
      if (error.code === 'idempotency_mismatch' && typeof existing === 'string') return existing
      // The key stays used after its session was deleted, so the next session is created under another key.
      if (error.code !== 'not_found' || deleted === MAX_DELETED_SESSIONS) throw error
    }
  }
}
