import { AskbackError, sessionOf, type CreateSessionBody, type Session } from '@askback/protocol'
import { Adoption } from '../../adopt/adoption.js'
import { actedBy, type Caller } from '../../decide/caller.js'
import { realFolder } from '../../decide/resolve-path.js'
import { optional } from '../../optional.js'
import type { Engine } from '../engine.js'
import { keyOf } from '../idempotency.js'

export async function createSession(
  engine: Engine,
  caller: Caller,
  body: CreateSessionBody,
  {
    id,
    source,
    idempotencyKey,
    maxSessions,
    ifNotExists = false,
  }: {
    id?: string
    source?: string
    idempotencyKey?: string
    maxSessions: number
    ifNotExists?: boolean
  },
): Promise<{ session: Session; created: boolean }> {
  const { store, newId } = engine.options
  const key =
    idempotencyKey === undefined
      ? undefined
      : keyOf(`key/create/${idempotencyKey}`, { ...body, ...optional({ id, source }) })
  const recorded = key && (await store.kv.get(key.key))
  const sessionId = checkedId(id ?? newId())
  const { agent = null, permissionMode = 'default', cwd, title, model, tags } = body
  const realCwd = await realCwdOf(engine, cwd)
  const rest = optional({ cwd, realCwd, title, model, source, tags })
  const start = { type: 'start', agent, permissionMode, ifNotExists, ...rest, ...actedBy(caller) } as const
  const begin = () => engine.run(sessionId, start, { key })
  const result = await (recorded ? begin() : withinSessionLimit(engine, sessionId, maxSessions, begin))
  const session = await engine.read(result.events[0]?.sessionId ?? sessionId, sessionOf)
  return { session, created: !result.repeated && result.events.length > 0 }
}

/** Creates the session unless it exists, or another call creates it meanwhile. */
export async function ensureSession(
  engine: Engine,
  caller: Caller,
  body: CreateSessionBody,
  { id, maxSessions }: { id: string; maxSessions: number },
): Promise<void> {
  const exists = async () => ((await engine.options.store.session(id))?.status ?? 'ended') !== 'ended'
  if (await exists()) return
  try {
    await createSession(engine, caller, body, { id, maxSessions, ifNotExists: true })
  } catch (error) {
    if (!(await exists())) throw error
  }
}

/** Undefined on a host without a file system, where no edit counts as inside the folder. */
async function realCwdOf(engine: Engine, cwd: string | undefined): Promise<string | null | undefined> {
  const { readLink } = engine.options.edits
  return cwd === undefined || !readLink ? undefined : realFolder(cwd, readLink)
}

async function checkSessionLimit(engine: Engine, sessionId: string, maxSessions: number): Promise<void> {
  refuseAboveLimit(engine, sessionId, maxSessions, await engine.options.store.countSessions())
}

function refuseAboveLimit(
  { beginning }: Engine,
  sessionId: string,
  maxSessions: number,
  count: number,
): void {
  const others = beginning.size - (beginning.has(sessionId) ? 1 : 0)
  if (count + others < maxSessions) return
  throw new AskbackError(
    'rate_limited',
    `There are ${maxSessions} sessions, which is the limit. Delete some first.`,
  )
}

/**
 * Sessions that are being created count, so that concurrent calls cannot exceed the limit together. Calls that create the same
 * session count once.
 */
async function withinSessionLimit<T>(
  engine: Engine,
  sessionId: string,
  maxSessions: number,
  begin: () => Promise<T>,
): Promise<T> {
  const { beginning, options } = engine
  const count = await options.store.countSessions()
  // From here to `set` without a pause: another call must see this one.
  refuseAboveLimit(engine, sessionId, maxSessions, count)
  beginning.set(sessionId, (beginning.get(sessionId) ?? 0) + 1)
  try {
    return await begin()
  } finally {
    const left = beginning.get(sessionId)! - 1
    if (left > 0) beginning.set(sessionId, left)
    else beginning.delete(sessionId)
  }
}

/** Ids are parts of store keys, so they must not contain the separators of keys. */
function checkedId(id: string): string {
  if (/^[\w.:@-]{1,200}$/.test(id)) return id
  throw new AskbackError(
    'invalid_request',
    'A session id has 1 to 200 letters, digits, "_", "-", ".", ":" or "@".',
  )
}

/** Adoption on a desk's engine. */
export function adoptionOn(engine: Engine, maxSessions: number): Adoption {
  const { store, clock, onError } = engine.options
  return new Adoption({
    store,
    clock,
    onError,
    isClosed: () => engine.closed,
    run: (sessionId, command) => engine.run(sessionId, command),
    follow: (sessionId, follower) => engine.follow(sessionId, follower),
    agentSessionId: (sessionId) => engine.read(sessionId, (state) => state.agentSessionId),
    realFolder: (cwd) => realCwdOf(engine, cwd),
    withinSessionLimit: (sessionId, begin) => withinSessionLimit(engine, sessionId, maxSessions, begin),
    checkSessionLimit: (sessionId) => checkSessionLimit(engine, sessionId, maxSessions),
  })
}
