import type { Advance } from '@askback/core'
import { checkAdvance, type LogPosition } from './delivery-rules.js'
import type { Process } from './process.js'
import { holds } from './violation.js'
import type { World } from './world.js'

/**
 * Checks what one process delivers to its listeners: durable events, in order, without gaps. The one exception: where several
 * processes write, a session that was loaded into memory is announced by its head alone, without its earlier events.
 */
export function listenTo(world: World, process: Process): (isRepaired: boolean) => void {
  const { model, plan } = world
  /** `isResident`: the session is certainly in memory, and stays there. */
  const heads = new Map<string, LogPosition & { isAnnounced: boolean; isResident: boolean }>()
  // A process does not announce the erasure of a session that it has evicted from memory.
  const isStrict = !plan.shared && plan.inMemory >= 100_000
  if (!plan.shared) {
    for (const { id, logId, events } of model.sessions.values())
      heads.set(id, { logId, seq: events.length, isAnnounced: false, isResident: false })
  }
  const advanced = (advance: Advance) => {
    const { sessionId, head, events } = advance
    const { logId } = checkAdvance(model, advance)
    const before = heads.get(sessionId)
    const where = () =>
      `${process.name} delivers ${events.length} events up to ${logId}@${head.seq} after ${before?.logId}@${before?.seq}`
    if (events.length > 0) {
      const first = events[0]!.seq
      const follows = before?.logId === logId ? before.seq + 1 : 1
      holds(first === follows, 'in order', where)
      const mustBeGone = isStrict && before?.isAnnounced === true && before.logId !== logId
      holds(!mustBeGone, 'gone', where)
    } else {
      holds(plan.shared, 'in order', where)
      holds(before?.logId !== logId || before.seq <= head.seq, 'in order', where)
    }
    // A head without events means that the session was loaded; after an erasure, the process may have evicted it.
    const isResident = !plan.shared || events.length === 0 || before?.isResident === true
    heads.set(sessionId, { logId, seq: head.seq, isAnnounced: true, isResident })
  }
  const gone = (sessionId: string) => {
    const before = heads.get(sessionId)
    const isGone = before === undefined || model.sessions.get(sessionId)?.logId !== before.logId
    holds(
      isGone,
      'gone',
      () => `${process.name} announces the erasure of ${before?.logId}, which still exists`,
    )
    heads.delete(sessionId)
  }
  process.desk.on(
    (advance) => process.alive && world.guard(() => advanced(advance)),
    (sessionId) => process.alive && world.guard(() => gone(sessionId)),
  )
  return (isRepaired) => {
    // Events of evicted sessions are not delivered.
    if (plan.inMemory < 100_000) return
    for (const [sessionId, { logId, seq, isResident }] of heads) {
      const log = model.logs.get(logId)
      // Other processes learn of an erasure only by polling the store.
      const mayLag =
        !isResident || process.missedDoorbells.has(sessionId) || (log?.ended === true && !isRepaired)
      const isEnd = model.sessions.get(sessionId) === log && log?.events.length === seq
      const where = () =>
        `${process.name} has delivered ${sessionId} up to ${logId}@${seq}, not ${log?.events.length}`
      holds(mayLag || isEnd, 'at rest', where)
    }
  }
}
