// What one answer costs with 100,000 pending interactions against 10, from respond until its waiter is resumed.
import { createDesk, memoryStore } from '@askback/core'
import { sqliteStore } from '@askback/store-sqlite'
import { join } from 'node:path'
import { interleave, median, report } from './measure.mjs'
import { answer, createSessions, inFolder, person, questionFor } from './workload.mjs'

/** @import { Store } from '@askback/core' */

const MANY = 100_000
const FEW = 10
const BATCHES = 100
/** Fewer where the caches are emptied before each. */
const COLD_BATCHES = 20
/** More than the caches of a processor hold. */
const memory = new Uint8Array(96 * 1024 * 1024)
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
 * Answers ten at a time; they are asked anew outside the measurement, so that as many stay pending. The median, as the
 * collector that asking anew makes work for also runs within the measurement now and then. Of ten, all were asked just now,
 * and lie in the caches of the processor; `cold` empties those on both sides, as the minutes do that a person takes.
 *
 * @param {Waiting} waiting
 * @param {boolean} cold
 */
async function answerSome(waiting, cold) {
  const { desk, asked } = waiting
  /** @type {number[]} */
  const took = []
  for (let batch = 0; batch < (cold ? COLD_BATCHES : BATCHES); batch++) {
    // Those that wait the longest, as an inbox shows them.
    const from = waiting.next
    const chosen = asked
      .slice(from, from + FEW)
      .map((item) => ({ ...item, answer, by: person, via: /** @type {const} */ ('web') }))
    waiting.next = (from + FEW) % asked.length
    if (cold) for (let place = 0; place < memory.length; place += 64) memory[place] = batch
    const before = performance.now()
    await new Promise((resolve) => {
      let left = chosen.length
      waiting.resumed = () => {
        left -= 1
        if (left === 0) resolve(undefined)
      }
      for (const input of chosen) void desk.respond(input)
    })
    took.push(performance.now() - before)
    const sessionIds = chosen.map(({ sessionId }) => sessionId)
    asked.splice(from, FEW, ...(await askSome(waiting, sessionIds)))
  }
  return median(took)
}

/**
 * @param {() => Store} newStore
 * @param {{ many: number; few: number; cold?: boolean }} sessions
 */
async function compare(newStore, { cold = false, ...sessions }) {
  const many = await waitingDesk(newStore(), { pending: MANY, count: sessions.many })
  const few = await waitingDesk(newStore(), { pending: FEW, count: sessions.few })
  const costs = await interleave({
    turns: 5,
    prepare: async () => undefined,
    a: () => answerSome(many, cold),
    b: () => answerSome(few, cold),
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
    {
      what: `${what}, in memory, a session each, from cold caches`,
      value: await compare(memoryStore, { ...each, cold: true }),
      atMost: 1.5,
    },
    {
      what: `${what}, in memory, in 20 sessions, from cold caches`,
      value: await compare(memoryStore, { ...twenty, cold: true }),
      atMost: 1.5,
    },
    { what: `${what}, durable, a session each`, value: await compare(onDisk, each), atMost: 1.5 },
    { what: `${what}, durable, in 20 sessions`, value: await compare(onDisk, twenty), atMost: 1.5 },
  ])
})
