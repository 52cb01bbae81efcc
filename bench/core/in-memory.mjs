// A question, its answer and the resumed waiter in memory, against a loop that only parses, hashes and folds the same events.
import { createDesk, memoryStore } from '@askback/core'
import { digestOf, emptyState, foldInto, sessionEvent } from '@askback/protocol'
import { computed, interleave, report } from './measure.mjs'
import { answerAll, createSessions, roundTrips } from './workload.mjs'

/** @import { SessionEvent, SessionState } from '@askback/protocol' */

/** Short turns, so that other work of the machine affects both sides equally. */
const TURNS = 10

/** @param {{ sessions: number; each: number }} size */
function compare({ sessions: count, each }) {
  return interleave({
    turns: TURNS,
    async prepare() {
      const store = memoryStore()
      const desk = createDesk({ store })
      answerAll(desk)
      const sessions = await createSessions(desk, count)
      const bare = sessions.map((sessionId) => ({ sessionId, state: emptyState('bare'), parsed: noEvents() }))
      return { store, desk, sessions, bare }
    },
    a({ desk, sessions }, turn) {
      return computed(() =>
        roundTrips(desk, { sessions, each: each / TURNS, from: turn * count * (each / TURNS) }),
      )
    },
    async b({ store, bare }) {
      const logs = await Promise.all(
        bare.map(async ({ sessionId, state, parsed }) => {
          const log = await store.read({ sessionId, after: parsed.length, limit: Infinity })
          return { log, state, parsed, read: 0 }
        }),
      )
      return computed(() => bareLoop(logs))
    },
    end({ desk }) {
      desk.close()
    },
  })
}

/** @returns {SessionEvent[]} */
function noEvents() {
  return []
}

/** @typedef {{ log: SessionEvent[]; read: number; state: SessionState; parsed: SessionEvent[] }} BareSession */

/**
 * Parses and folds the logs, and stores the parsed events as a store does. It waits for the event loop as often as the desk does,
 * after the questions of all sessions.
 *
 * @param {BareSession[]} sessions
 */
async function bareLoop(sessions) {
  while (sessions.some(({ log, read }) => read < log.length)) {
    for (const session of sessions) readUntilAnswer(session)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** @param {BareSession} session */
function readUntilAnswer(session) {
  const { log, state, parsed } = session
  for (let logged = log[session.read]; logged; logged = log[session.read]) {
    const event = sessionEvent.parse(logged)
    if (event.type === 'interaction_request') digestOf(event.toolName, event.request)
    parsed.push(event)
    foldInto(state, [event])
    session.read += 1
    if (log[session.read]?.type === 'interaction_response') return
  }
}

const many = await compare({ sessions: 64, each: 200 })
const one = await compare({ sessions: 1, each: 5000 })
report([
  {
    what: 'in memory, 64 sessions at once: speed / parse, digest and fold',
    value: 1 / many.ratio,
    atLeast: 0.5,
  },
  { what: 'in memory, one at a time: speed / parse, digest and fold', value: 1 / one.ratio, atLeast: 0.5 },
])
