import { emptyState, fold, stateToJson, type SessionStateJson } from '@askback/protocol'
import { toJson } from './log-facts.js'
import type { LoggedSession } from './log-model.js'
import { same } from './origin-rules.js'
import { checkReturned } from './interaction-rules.js'
import { holds } from './violation.js'
import type { World } from './world.js'

/** Reads a session, an interaction or the inbox, and checks that the result was committed before. */
export function readSomething(world: World, sessionId: string): void {
  const { random, model } = world
  const session = model.sessions.get(sessionId)
  const asked = session?.interactions.length ? random.pick(session.interactions) : undefined
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
          // A fresh snapshot contains everything that was committed before the call.
          const isCurrent = !fresh || logId !== session?.logId || seq >= before
          holds(isCurrent, 'fresh', () => `${sessionId} was at ${before}, but the snapshot is at ${seq}`)
        },
        refused,
      },
    )
  } else if (asked && random.chance(0.7)) {
    const { interactionId } = asked.request
    world.call(`look at ${interactionId}`, (desk) => desk.interaction(sessionId, interactionId), {
      done: (returned) => void checkReturned(model, returned),
      refused,
    })
  } else {
    world.call('inbox', (desk) => desk.pending(), {
      done: ({ interactions }) => interactions.forEach((returned) => void checkReturned(model, returned)),
      refused,
    })
  }
}

/** Live equals replay: a returned state is the fold of the log up to its `seq`. */
export function checkState(
  session: LoggedSession | undefined,
  seq: number,
  returned: SessionStateJson,
): void {
  holds(
    session !== undefined,
    'durable first',
    () => `a state of ${returned.sessionId} from a log that never existed`,
  )
  const { events, id } = session
  holds(
    seq <= events.length,
    'durable first',
    () => `the state of ${id} is at ${seq}, its log at ${events.length}`,
  )
  const replayed = stateToJson(fold(emptyState(id), events.slice(0, seq)))
  const pending = returned.pending.map(({ overdue: _, ...item }) => item)
  const said = toJson({ ...returned, pending })
  const is = toJson(replayed)
  const where = () => `${id}@${seq}\n  returned ${JSON.stringify(said)}\n  replayed ${JSON.stringify(is)}`
  holds(same(said, is), 'live equals replay', where)
}
