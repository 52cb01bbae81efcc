import type { Advance } from '@askback/core'
import { checkAdvance, type LogPlace } from './durable.js'
import type { Process } from './process.js'
import { holds } from './violation.js'
import type { World } from './world.js'

/**
 * What one process tells everybody who listens to it. Where several processes write, a session that came into memory is
 * told by its head alone, and earlier events may be missing; nothing else leaves a gap.
 */
export function listenTo(world: World, process: Process): (isRepaired: boolean) => void {
  const { model, plan } = world
  /** `isKept`: the session is in memory for sure, and stays there. */
  const heads = new Map<string, LogPlace & { isTold: boolean; isKept: boolean }>()
  // Of a session that has left the memory it is not told that its log is gone.
  const isStrict = !plan.shared && plan.inMemory >= 100_000
  if (!plan.shared) {
    for (const { id, logId, events } of model.sessions.values())
      heads.set(id, { logId, seq: events.length, isTold: false, isKept: false })
  }
  const advanced = (advance: Advance) => {
    const { sessionId, head, events } = advance
    const { logId } = checkAdvance(model, advance)
    const before = heads.get(sessionId)
    const where = () =>
      `${process.name} tells ${events.length} events up to ${logId}@${head.seq} after ${before?.logId}@${before?.seq}`
    if (events.length > 0) {
      const first = events[0]!.seq
      const follows = before?.logId === logId ? before.seq + 1 : 1
      holds(first === follows, 'in order', where)
      const mustBeGone = isStrict && before?.isTold === true && before.logId !== logId
      holds(!mustBeGone, 'gone', where)
    } else {
      holds(plan.shared, 'in order', where)
      holds(before?.logId !== logId || before.seq <= head.seq, 'in order', where)
    }
    // It is told by its head alone when it was loaded; after it was gone, nobody may need it any more.
    const isKept = !plan.shared || events.length === 0 || before?.isKept === true
    heads.set(sessionId, { logId, seq: head.seq, isTold: true, isKept })
  }
  const gone = (sessionId: string) => {
    const before = heads.get(sessionId)
    const isGone = before === undefined || model.sessions.get(sessionId)?.logId !== before.logId
    holds(isGone, 'gone', () => `${process.name} tells that ${before?.logId} is gone, which is there`)
    heads.delete(sessionId)
  }
  process.desk.on(
    (advance) => process.alive && world.guard(() => advanced(advance)),
    (sessionId) => process.alive && world.guard(() => gone(sessionId)),
  )
  return (isRepaired) => {
    // What has left the memory is not told any more.
    if (plan.inMemory < 100_000) return
    for (const [sessionId, { logId, seq, isKept }] of heads) {
      const log = model.logs.get(logId)
      // Only the repair tells other processes of an erasure.
      const mayLag = !isKept || process.unheard.has(sessionId) || (log?.ended === true && !isRepaired)
      const isEnd = model.sessions.get(sessionId) === log && log?.events.length === seq
      const where = () =>
        `${process.name} has told ${sessionId} up to ${logId}@${seq}, not ${log?.events.length}`
      holds(mayLag || isEnd, 'at rest', where)
    }
  }
}
