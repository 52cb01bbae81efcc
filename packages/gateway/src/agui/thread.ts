import type { BoundHost, Host, PersonCaller } from '@askback/core'
import { AskbackError, isRecord, type CreateSessionBody } from '@askback/protocol'
import { withTags, type CallAccess } from '../access/call-access.js'
import type { PersonCredential } from '../credentials/credential.js'
import { idempotencyKey } from '../http/idempotent.js'
import { writeKey, type RunAgentInput } from './input.js'

/**
 * The session of a thread: the one with this id or, for an id that the client has made up, one that is created for it. The same person
 * with the same thread id gets the same session again; other people do not, since they could guess the id.
 */
export async function sessionOfThread(
  { threadId, forwardedProps }: RunAgentInput,
  { host, bound, access, credential }: ThreadOptions,
): Promise<string> {
  if ((await exists(host, threadId)) && (!access || (await access.mayRead(threadId)))) return threadId
  const { agent, cwd, title, model } = forwardedProps ?? {}
  const body: CreateSessionBody = {
    ...(agent !== undefined && { agent }),
    ...(cwd !== undefined && { cwd }),
    ...(title !== undefined && { title }),
    ...(model !== undefined && { model }),
  }
  const wanted = withTags(body, credential)
  await access?.checkCreate(wanted)
  const key = idempotencyKey(writeKey(threadId), 'aguiThread', credential.id)
  const id = await create(bound, { ...wanted, idempotencyKey: key, source: 'ag-ui' })
  if (id === null || !(await exists(host, id)))
    throw new AskbackError('not_found', 'The session of this thread was deleted. Start another thread.')
  await access?.check(id, 'read')
  return id
}

export interface ThreadOptions {
  host: Host
  /** The host, bound to the person. */
  bound: BoundHost<PersonCaller>
  access: CallAccess | null
  credential: PersonCredential
}

/** Returns `null` if the session of the key was deleted. */
async function create(
  bound: BoundHost<PersonCaller>,
  body: Parameters<BoundHost['createSession']>[0],
): Promise<string | null> {
  try {
    return (await bound.createSession(body)).session.id
  } catch (error) {
    if (!(error instanceof AskbackError)) throw error
    // The thread was made with another agent or title; it stays what it is.
    const { code, details } = error
    if (code === 'idempotency_mismatch' && isRecord(details) && typeof details.sessionId === 'string')
      return details.sessionId
    if (code === 'not_found') return null
    throw error
  }
}

async function exists(host: Host, sessionId: string): Promise<boolean> {
  try {
    await host.snapshot(sessionId, { fresh: true })
    return true
  } catch (error) {
    if (error instanceof AskbackError && error.code === 'not_found') return false
    throw error
  }
}
