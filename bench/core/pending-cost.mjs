// What one answer costs with 100,000 pending interactions against 10, from respond until its waiter is resumed.
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
 * A desk on which `pending` questions wait, spread over `count` sessions.
 *
 * @param {Store} store
 * @param {{ pending: number; count: number }} size
 */
async function waitingDesk(store, { pending, count }) {
  const desk = createDesk({ store, limits })
  const sessions = await createSessions(desk, count)
  const waiting = {
    store,
    desk,
    asked: /** @type {Asked[]} */ ([]),
    next: 0,
    resumed: (/** @type {unknown} */ _) => {},
  }
  for (let number = 0; number < pending; number += FEW) {
    const sessionIds = Array.from({ length: FEW }, (_, index) => sessions[(number + index) % count] ?? '')
    waiting.asked.push(...(await askSome(waiting, sessionIds)))
  }
  return waiting
}

/** @typedef {{ sessionId: string; interactionId: string }} Asked */
/** @typedef {Awaited<ReturnType<typeof waitingDesk>>} Waiting */

/**
 * Each with someone who waits for it from then on.
 *
 * @param {Waiting} waiting
 * @param {string[]} sessionIds
 * @returns {Promise<Asked[]>}
 */
function askSome(waiting, sessionIds) {
  const { desk } = waiting
  return Promise.all(
    sessionIds.map(async (sessionId, index) => {
      const { interaction } = await desk.open({ sessionId, kind: 'question', request: questionFor(index) })
      const { interactionId } = interaction
      desk.wait(interactionId, undefined, { sessionId }).then(
        (settled) => waiting.resumed(settled),
        () => undefined,
      )
      return { sessionId, interactionId }
    }),
  )
}

/**
 * Answers the ten that have waited the longest, as an inbox shows them, and asks as many anew outside the measurement.
 *
 * @param {Waiting} waiting
 */
async function answerTen(waiting) {
  const { desk, asked, next: from } = waiting
  const chosen = asked
    .slice(from, from + FEW)
    .map((item) => ({ ...item, answer, by: person, via: /** @type {const} */ ('web') }))
  waiting.next = (from + FEW) % asked.length
  const took = await timed(
    () =>
      new Promise((resolve) => {
        let left = chosen.length
        waiting.resumed = () => {
          left -= 1
          if (left === 0) resolve(undefined)
        }
        for (const input of chosen) void desk.respond(input)
      }),
  )
  const sessionIds = chosen.map(({ sessionId }) => sessionId)
  asked.splice(from, FEW, ...(await askSome(waiting, sessionIds)))
  return took
}

/**
 * In turn, ten by ten, so that each side finds the caches of the processor as the other has left them. The median of each, as
 * the collector that asking anew makes work for also runs within the measurement now and then.
 *
 * @param {Waiting} many
 * @param {Waiting} few
 */
async function inTurn(many, few) {
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
  const many = await waitingDesk(newStore(), { pending: MANY, count: sessions.many })
  const few = await waitingDesk(newStore(), { pending: FEW, count: sessions.few })
  const costs = await interleave({
    prepare: () => inTurn(many, few),
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
