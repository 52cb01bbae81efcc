// Ask, answer, resumed in memory, against a loop that only parses, hashes and folds the same events.
import { createDesk, memoryStore } from '@askback/core'
import { digestOf, emptyState, foldInto, sessionEvent } from '@askback/protocol'
import { computed, interleave, report } from './measure.mjs'
import { answerAll, createSessions, roundTrips } from './workload.mjs'

/** @import { SessionEvent, SessionState } from '@askback/protocol' */

/** @param {{ sessions: number; each: number }} size */
function compare({ sessions: count, each }) {
  return interleave({
    async prepare() {
      const store = memoryStore()
      const desk = createDesk({ store })
      answerAll(desk)
      const sessions = await createSessions(desk, count)
      return { store, desk, sessions }
    },
    async a({ desk, sessions }) {
      const took = await computed(() => roundTrips(desk, { sessions, each }))
      desk.close()
      return took
    },
    async b({ store, sessions }) {
      const logs = await Promise.all(sessions.map((sessionId) => store.read({ sessionId, limit: Infinity })))
      return computed(() => bareLoop(logs))
    },
  })
}

/**
 * Keeps what it has parsed, as whoever has a log does, and lets the same moments pass until the questions of all sessions
 * are answered.
 *
 * @param {SessionEvent[][]} logs
 */
async function bareLoop(logs) {
  const sessions = logs.map((log) => ({
    log,
    state: emptyState('bare'),
    kept: /** @type {SessionEvent[]} */ ([]),
  }))
  while (sessions.some(({ log, kept }) => kept.length < log.length)) {
    for (const session of sessions) takeUntilAnswered(session)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return sessions
}

/** @param {{ log: SessionEvent[]; state: SessionState; kept: SessionEvent[] }} session */
function takeUntilAnswered({ log, state, kept }) {
  for (let logged = log[kept.length]; logged; logged = log[kept.length]) {
    const event = sessionEvent.parse(logged)
    if (event.type === 'interaction_request') digestOf(event.toolName, event.request)
    kept.push(event)
    foldInto(state, [event])
    if (log[kept.length]?.type === 'interaction_response') return
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
