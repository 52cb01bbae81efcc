import { emptyState, fold, stateToJson, type SessionStateJson } from '@askback/protocol'
import { toJson } from './log-facts.js'
import type { LoggedSession } from './log-model.js'
import { same } from './origin-rules.js'
import { checkTold } from './told.js'
import { holds } from './violation.js'
import type { World } from './world.js'

/** Somebody looks: at a session, at an interaction, at the inbox. What they see was durable before. */
export function look(world: World, sessionId: string): void {
  const { random, model } = world
  const session = model.sessions.get(sessionId)
  const asked = session?.asked.length ? random.pick(session.asked) : undefined
  const refused = () => {}
  if (random.chance(0.5)) {
    const fresh = random.chance(0.3)
    const before = session?.events.length ?? 0
    world.call(
      `${fresh ? 'fresh ' : ''}snapshot of ${sessionId}`,
      (desk) => desk.snapshot(sessionId, { fresh }),
      {
        done: ({ state, seq, logId }) => {
          checkState(model.logs.get(logId), seq, state)
          // What was in the log when it was asked for is there.
          const isCurrent = !fresh || logId !== session?.logId || seq >= before
          holds(isCurrent, 'fresh', () => `${sessionId} was at ${before}, and is read at ${seq}`)
        },
        refused,
      },
    )
  } else if (asked && random.chance(0.7)) {
    const { interactionId } = asked.request
    world.call(`look at ${interactionId}`, (desk) => desk.interaction(sessionId, interactionId), {
      done: (told) => void checkTold(model, told),
      refused,
    })
  } else {
    world.call('inbox', (desk) => desk.pending(), {
      done: ({ interactions }) => interactions.forEach((told) => void checkTold(model, told)),
      refused,
    })
  }
}

/** Live equals replay: a state that was told is the fold of the log up to its seq. */
export function checkState(session: LoggedSession | undefined, seq: number, told: SessionStateJson): void {
  holds(
    session !== undefined,
    'durable first',
    () => `a state of ${told.sessionId} from a log that never was`,
  )
  const { events, id } = session
  holds(
    seq <= events.length,
    'durable first',
    () => `the state of ${id} is at ${seq}, its log at ${events.length}`,
  )
  const replayed = stateToJson(fold(emptyState(id), events.slice(0, seq)))
  const pending = told.pending.map(({ overdue: _, ...item }) => item)
  const said = toJson({ ...told, pending })
  const is = toJson(replayed)
  const where = () => `${id}@${seq}\n  told   ${JSON.stringify(said)}\n  replay ${JSON.stringify(is)}`
  holds(same(said, is), 'live equals replay', where)
}
