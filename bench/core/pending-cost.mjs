// The cost of one answer with 100,000 pending interactions against 10, from respond until its waiter is resumed.
import { createDesk, memoryStore } from '@askback/core'
import { sqliteStore } from '@askback/store-sqlite'
import { join } from 'node:path'
import { interleave, median, report, timed } from './measure.mjs'
import { answer, createSessions, inFolder, person, questionFor } from './workload.mjs'

/** @import { Store } from '@askback/core' */

const MANY = 100_000
const FEW = 10
const BATCHES = 500
const limits = { sessions: Infinity, pendingPerSession: Infinity }

/**
 * Opens a desk with `pending` questions, spread over `count` sessions.
 *
 * @param {Store} store
 * @param {{ pending: number; count: number }} size
 */
async function deskWithQuestions(store, { pending, count }) {
  const desk = createDesk({ store, limits })
  const sessions = await createSessions(desk, count)
  const pendingDesk = {
    store,
    desk,
    questions: /** @type {OpenQuestion[]} */ ([]),
    next: 0,
    resumed: (/** @type {unknown} */ _) => {},
  }
  for (let number = 0; number < pending; number += FEW) {
    const sessionIds = Array.from({ length: FEW }, (_, index) => sessions[(number + index) % count] ?? '')
    pendingDesk.questions.push(...(await openQuestions(pendingDesk, sessionIds)))
  }
  return pendingDesk
}

/** @typedef {{ sessionId: string; interactionId: string }} OpenQuestion */
/** @typedef {Awaited<ReturnType<typeof deskWithQuestions>>} PendingDesk */

/**
 * Opens a question in each session, with a waiter.
 *
 * @param {PendingDesk} pendingDesk
 * @param {string[]} sessionIds
 * @returns {Promise<OpenQuestion[]>}
 */
function openQuestions(pendingDesk, sessionIds) {
  const { desk } = pendingDesk
  return Promise.all(
    sessionIds.map(async (sessionId, index) => {
      const { interaction } = await desk.open({ sessionId, kind: 'question', request: questionFor(index) })
      const { interactionId } = interaction
      desk.wait(interactionId, { sessionId }).then(
        (settled) => pendingDesk.resumed(settled),
        () => undefined,
      )
      return { sessionId, interactionId }
    }),
  )
}

/**
 * Answers the ten oldest questions, as an inbox shows them, and then opens ten others outside of the measurement.
 *
 * @param {PendingDesk} pendingDesk
 */
async function answerTen(pendingDesk) {
  const { desk, questions, next: from } = pendingDesk
  const chosen = questions.slice(from, from + FEW).map((item) => ({ ...item, answer }))
  const bound = desk.as({ by: person, via: 'web' })
  pendingDesk.next = (from + FEW) % questions.length
  const took = await timed(
    () =>
      new Promise((resolve) => {
        let left = chosen.length
        pendingDesk.resumed = () => {
          left -= 1
          if (left === 0) resolve(undefined)
        }
        for (const input of chosen) void bound.respond(input)
      }),
  )
  const sessionIds = chosen.map(({ sessionId }) => sessionId)
  questions.splice(from, FEW, ...(await openQuestions(pendingDesk, sessionIds)))
  return took
}

/**
 * Answers alternately, ten at a time, so that each side finds the CPU caches as the other left them. Returns medians, because
 * garbage collection sometimes runs within a measurement.
 *
 * @param {PendingDesk} many
 * @param {PendingDesk} few
 */
async function answerAlternately(many, few) {
  /** @type {{ many: number[]; few: number[] }} */
  const took = { many: [], few: [] }
  for (let batch = 0; batch < BATCHES; batch++) {
    took.many.push(await answerTen(many))
    took.few.push(await answerTen(few))
  }
  return { many: median(took.many), few: median(took.few) }
}

/**
 * @param {() => Store} newStore
 * @param {{ many: number; few: number }} sessions
 */
async function compare(newStore, sessions) {
  const many = await deskWithQuestions(newStore(), { pending: MANY, count: sessions.many })
  const few = await deskWithQuestions(newStore(), { pending: FEW, count: sessions.few })
  const costs = await interleave({
    prepare: () => answerAlternately(many, few),
    a: async (took) => took.many,
    b: async (took) => took.few,
  })
  for (const { desk, store } of [many, few]) {
    desk.close()
    await store.close()
  }
  return costs.ratio
}

const each = { many: MANY, few: FEW }
const ten = { many: MANY / FEW, few: FEW }
const twenty = { many: 20, few: FEW }
const one = { many: 1, few: 1 }

await inFolder(async (folder) => {
  let databases = 0
  const onDisk = () => sqliteStore({ path: join(folder, `${databases++}.db`) })
  const what = 'one answer with 100,000 pending / with 10'
  report([
    { what: `${what}, in memory, a session each`, value: await compare(memoryStore, each), atMost: 1.5 },
    { what: `${what}, in memory, ten in a session`, value: await compare(memoryStore, ten), atMost: 1.5 },
    { what: `${what}, in memory, in 20 sessions`, value: await compare(memoryStore, twenty), atMost: 1.5 },
    { what: `${what}, in memory, in one session`, value: await compare(memoryStore, one), atMost: 1.5 },
    { what: `${what}, durable, a session each`, value: await compare(onDisk, each), atMost: 1.5 },
    { what: `${what}, durable, in 20 sessions`, value: await compare(onDisk, twenty), atMost: 1.5 },
  ])
})
