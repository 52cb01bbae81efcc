// Ask, answer, resumed in memory, against a loop that only parses, hashes and folds the same events.
import { createDesk, memoryStore } from '@askback/core'
import { digestOf, emptyState, foldInto, sessionEvent } from '@askback/protocol'
import { computed, interleave, report } from './measure.mjs'
import { answerAll, createSessions, roundTrips } from './workload.mjs'

/** @import { SessionEvent, SessionState } from '@askback/protocol' */

/** Short turns, so that what else the machine does falls on both sides alike. */
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
      const bare = sessions.map((sessionId) => ({ sessionId, state: emptyState('bare'), kept: keptEvents() }))
      return { store, desk, sessions, bare }
    },
    a({ desk, sessions }, turn) {
      return computed(() =>
        roundTrips(desk, { sessions, each: each / TURNS, from: turn * count * (each / TURNS) }),
      )
    },
    async b({ store, bare }) {
      const logs = await Promise.all(
        bare.map(async ({ sessionId, state, kept }) => {
          const log = await store.read({ sessionId, after: kept.length, limit: Infinity })
          return { log, state, kept, taken: 0 }
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
function keptEvents() {
  return []
}

/** @typedef {{ log: SessionEvent[]; taken: number; state: SessionState; kept: SessionEvent[] }} Bare */

/**
 * Keeps what it has parsed, as whoever has a log does, and lets the same moments pass until the questions of all sessions
 * are answered.
 *
 * @param {Bare[]} sessions
 */
async function bareLoop(sessions) {
  while (sessions.some(({ log, taken }) => taken < log.length)) {
    for (const session of sessions) takeUntilAnswered(session)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** @param {Bare} session */
function takeUntilAnswered(session) {
  const { log, state, kept } = session
  for (let logged = log[session.taken]; logged; logged = log[session.taken]) {
    const event = sessionEvent.parse(logged)
    if (event.type === 'interaction_request') digestOf(event.toolName, event.request)
    kept.push(event)
    foldInto(state, [event])
    session.taken += 1
    if (log[session.taken]?.type === 'interaction_response') return
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
