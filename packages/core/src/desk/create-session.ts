import {
  AskbackError,
  sessionOf,
  type Actor,
  type CreateSessionBody,
  type Session,
  type Via,
} from '@askback/protocol'
import { realFolder } from '../decide/follow-path.js'
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
    by,
    via,
    most,
    ifNotExists = false,
  }: {
    id?: string
    source?: string
    idempotencyKey?: string
    by?: Actor
    via?: Via
    most: number
    ifNotExists?: boolean
  },
): Promise<{ session: Session; created: boolean }> {
  const { store, newId } = engine.options
  const key =
    idempotencyKey === undefined
      ? undefined
      : keyOf(`key/create/${idempotencyKey}`, { ...body, ...optional({ id, source }) })
  const seen = key && (await store.kv.get(key.key))
  const sessionId = checkedId(id ?? newId())
  const { agent = null, permissionMode = 'default', cwd, title, model } = body
  const realCwd = await realCwdOf(engine, cwd)
  const rest = optional({ cwd, realCwd, title, model, source, by, via })
  const start = { type: 'start', agent, permissionMode, ifNotExists, ...rest } as const
  const begin = () => engine.run(sessionId, start, key)
  const ran = await (seen ? begin() : withRoom(engine, sessionId, most, begin))
  const session = await engine.read(ran.events[0]?.sessionId ?? sessionId, sessionOf)
  return { session, created: !ran.repeated && ran.events.length > 0 }
}

/** Nothing on a host without a file system, which lets no edit pass anyway. */
export async function realCwdOf(engine: Engine, cwd: string | undefined): Promise<string | null | undefined> {
  const { readLink } = engine.options.edits
  return cwd === undefined || !readLink ? undefined : realFolder(cwd, readLink)
}

export function checkRoom(
  { beginning }: Engine,
  sessionId: string,
  { most, count }: { most: number; count: number },
): void {
  const others = beginning.size - (beginning.has(sessionId) ? 1 : 0)
  if (count + others < most) return
  throw new AskbackError('rate_limited', `There are ${most} sessions, which is the limit. Delete some first.`)
}

/** Many at once must not get past the limit together; those that begin the same session begin one. */
export async function withRoom<T>(
  engine: Engine,
  sessionId: string,
  most: number,
  begin: () => Promise<T>,
): Promise<T> {
  const { beginning, options } = engine
  checkRoom(engine, sessionId, { most, count: await options.store.countSessions() })
  beginning.set(sessionId, (beginning.get(sessionId) ?? 0) + 1)
  try {
    return await begin()
  } finally {
    const left = beginning.get(sessionId)! - 1
    if (left > 0) beginning.set(sessionId, left)
    else beginning.delete(sessionId)
  }
}

/** It stands in keys, so it has none of their separators. */
function checkedId(id: string): string {
  if (/^[\w.:@-]{1,200}$/.test(id)) return id
  throw new AskbackError(
    'invalid_request',
    'A session id has 1 to 200 letters, digits, "_", "-", ".", ":" or "@".',
  )
}
