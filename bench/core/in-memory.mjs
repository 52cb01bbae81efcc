// Ask, answer, resumed in memory, against a loop that only parses, hashes and folds the same.
import { createDesk, memoryStore } from '@askback/core'
import {
  copyJson,
  digestOf,
  emptyState,
  foldInto,
  openInput,
  questionAnswer,
  questionRequest,
  respondInput,
} from '@askback/protocol'
import { computed, interleave, report } from './measure.mjs'
import { answer, answerAll, createSessions, person, questionFor, roundTrips } from './workload.mjs'

/** @import { SessionEvent } from '@askback/protocol' */

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
      return computed(() => logs.map((log, index) => bareLoop(log, index * each)))
    },
  })
}

/**
 * What no desk can do without: the inputs are parsed as their schemas say, the request is hashed, the events are folded.
 *
 * @param {SessionEvent[]} log
 * @param {number} first The number of its first question.
 */
function bareLoop(log, first) {
  const state = emptyState('bare')
  let number = first
  for (const append of appendsOf(log)) {
    for (const event of append) {
      const { sessionId } = event
      if (event.type === 'interaction_request') {
        const input = { sessionId, kind: 'question', request: questionFor(number++), claimAs: 'desk' }
        const request = copyJson(openInput.parse(input).request)
        questionRequest.parse(request)
        digestOf('question', request)
      } else if (event.type === 'interaction_response') {
        const { interactionId } = event
        const input = { sessionId, interactionId, answer: copyJson(answer), by: person, via: 'web' }
        questionAnswer.parse(respondInput.parse(input).answer)
      }
    }
    foldInto(state, append)
  }
  return state
}

/**
 * Each ends with the status that it changes.
 *
 * @param {SessionEvent[]} log
 */
function appendsOf(log) {
  /** @type {SessionEvent[][]} */
  const appends = [[]]
  for (const event of log) {
    appends.at(-1)?.push(event)
    if (event.type === 'session_status' || event.type === 'session_started') appends.push([])
  }
  return appends
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
