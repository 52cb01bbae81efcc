import { AskbackError, sessionOf, type CreateSessionBody, type Session } from '@askback/protocol'
import { optional } from '../optional.js'
import type { Engine } from './engine.js'
import { keyOf } from './idempotency.js'

export async function createSession(
  engine: Engine,
  body: CreateSessionBody,
  {
    id,
    source,
    idempotencyKey,
    most,
    unlessThere = false,
  }: { id?: string; source?: string; idempotencyKey?: string; most: number; unlessThere?: boolean },
): Promise<{ session: Session; created: boolean }> {
  const { store, newId } = engine.options
  const key =
    idempotencyKey === undefined
      ? undefined
      : keyOf(`key/create/${idempotencyKey}`, { ...body, ...optional({ id, source }) })
  const seen = key && (await store.kv.get(key.key))
  if (!seen && (await store.countSessions()) + engine.beginning >= most) {
    throw new AskbackError(
      'rate_limited',
      `There are ${most} sessions, which is the limit. Delete some first.`,
    )
  }
  const sessionId = checkedId(id ?? newId())
  const { agent = null, permissionMode = 'default', cwd, title, model } = body
  const rest = optional({ cwd, title, model, source })
  const start = { type: 'start', agent, permissionMode, unlessThere, ...rest } as const
  engine.beginning++
  const ran = await engine.run(sessionId, start, key).finally(() => engine.beginning--)
  const session = await engine.read(ran.events[0]?.sessionId ?? sessionId, sessionOf)
  return { session, created: !ran.repeated && ran.events.length > 0 }
}

/** It stands in keys, so it has none of their separators. */
function checkedId(id: string): string {
  if (/^[\w.:@-]{1,200}$/.test(id)) return id
  throw new AskbackError(
    'invalid_request',
    'A session id has 1 to 200 letters, digits, "_", "-", ".", ":" or "@".',
  )
}
