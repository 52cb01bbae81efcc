// What one answer costs with 100,000 pending interactions against 10, from respond until its waiter is resumed.
import { createDesk, memoryStore } from '@askback/core'
import { interleave, median, report } from './measure.mjs'
import { answer, createSessions, person, questionFor } from './workload.mjs'

/** @import { Desk } from '@askback/core' */

const MANY = 100_000
const FEW = 10
const BATCHES = 300
const limits = { sessions: Infinity, pendingPerSession: Infinity }

/**
 * A desk on which `pending` questions wait, spread over `count` sessions.
 *
 * @param {{ pending: number; count: number }} size
 */
async function waitingDesk({ pending, count }) {
  const desk = createDesk({ store: memoryStore(), limits })
  const sessions = await createSessions(desk, count)
  /** @type {Asked[]} */
  const asked = []
  for (let number = 0; number < pending; number += FEW) {
    asked.push(
      ...(await askSome(
        desk,
        Array.from({ length: FEW }, (_, index) => sessions[(number + index) % count] ?? ''),
      )),
    )
  }
  return { desk, asked, next: 0 }
}

/** @typedef {{ sessionId: string; interactionId: string; resumed: Promise<unknown> }} Asked */
/** @typedef {Awaited<ReturnType<typeof waitingDesk>>} Waiting */

/**
 * @param {Desk} desk
 * @param {string[]} sessionIds
 * @returns {Promise<Asked[]>}
 */
function askSome(desk, sessionIds) {
  return Promise.all(
    sessionIds.map(async (sessionId, index) => {
      const { interaction } = await desk.open({ sessionId, kind: 'question', request: questionFor(index) })
      const { interactionId } = interaction
      const resumed = desk.wait(interactionId, undefined, { sessionId })
      return { sessionId, interactionId, resumed }
    }),
  )
}

/**
 * Answers ten at a time; they are asked anew outside the measurement, so that as many stay pending. The median, as the
 * collector that asking anew makes work for also runs within the measurement now and then.
 *
 * @param {Waiting} waiting
 */
async function answerSome(waiting) {
  const { desk, asked } = waiting
  /** @type {number[]} */
  const took = []
  for (let batch = 0; batch < BATCHES; batch++) {
    // Those that wait the longest, as an inbox shows them.
    const chosen = Array.from({ length: FEW }, (_, index) => (waiting.next + index) % asked.length)
    waiting.next = (waiting.next + FEW) % asked.length
    const before = performance.now()
    await Promise.all(
      chosen.map((place) => {
        const { sessionId, interactionId, resumed } = /** @type {Asked} */ (asked[place])
        void desk.respond({ sessionId, interactionId, answer, by: person, via: 'web' })
        return resumed
      }),
    )
    took.push(performance.now() - before)
    const again = await askSome(
      desk,
      chosen.map((place) => asked[place]?.sessionId ?? ''),
    )
    for (const [index, place] of chosen.entries()) asked[place] = /** @type {Asked} */ (again[index])
  }
  return median(took)
}

/** @param {{ many: number; few: number }} sessions */
async function compare(sessions) {
  const many = await waitingDesk({ pending: MANY, count: sessions.many })
  const few = await waitingDesk({ pending: FEW, count: sessions.few })
  const costs = await interleave({
    prepare: async () => undefined,
    a: () => answerSome(many),
    b: () => answerSome(few),
  })
  for (const { desk, asked } of [many, few]) {
    for (const { resumed } of asked) resumed.catch(() => undefined)
    desk.close()
  }
  return costs.ratio
}

const what = 'one answer with 100,000 pending / with 10'
report([
  { what: `${what}, a session each`, value: await compare({ many: MANY, few: FEW }), atMost: 1.5 },
  { what: `${what}, in 20 sessions / in 1`, value: await compare({ many: 20, few: 1 }), atMost: 1.5 },
  { what: `${what}, in one session`, value: await compare({ many: 1, few: 1 }), atMost: 1.5 },
])
