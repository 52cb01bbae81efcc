// The cost of folding a long log, and of opening a session that has one.
import { createDesk } from '@askback/core'
import { emptyState, fold } from '@askback/protocol'
import { sqliteStore } from '@askback/store-sqlite'
import { join } from 'node:path'
import { writeLongSession } from './long-session.mjs'
import { computed, interleave, report } from './measure.mjs'
import { inFolder } from './workload.mjs'

/** @import { Store } from '@askback/core' */

const LONG = 'long'
const SHORT = 'short'
const OPENINGS = 20

/** @param {Store} store */
function compareFolding(store) {
  return interleave({
    prepare: () => readAll(store, LONG),
    a: (events) => computed(() => fold(emptyState(LONG), events)),
    b: () => computed(() => readAll(store, LONG)),
  })
}

/**
 * @param {Store} store
 * @param {string} sessionId
 */
async function readAll(store, sessionId) {
  const events = []
  for (;;) {
    const page = await store.read({ sessionId, after: events.length, limit: 1000 })
    for (const event of page) events.push(event)
    if (page.length < 1000) return events
  }
}

/** @param {Store} store */
function compareOpening(store) {
  return interleave({
    prepare: async () => undefined,
    a: () => computed(() => openCold(store, LONG)),
    b: () => computed(() => openCold(store, SHORT)),
  })
}

/**
 * @param {Store} store
 * @param {string} sessionId
 */
async function openCold(store, sessionId) {
  for (let opening = 0; opening < OPENINGS; opening++) {
    const desk = createDesk({ store })
    await desk.snapshot(sessionId)
    desk.close()
  }
}

await inFolder(async (folder) => {
  const store = sqliteStore({ path: join(folder, 'long.db') })
  await writeLongSession(store, LONG, 100_000)
  await writeLongSession(store, SHORT, 1000)
  const folding = await compareFolding(store)
  const opening = await compareOpening(store)
  await store.close()
  report([
    { what: 'folding 100,000 events / reading and parsing them', value: folding.ratio, atMost: 2 },
    { what: 'opening a session of 100,000 events / of 1,000', value: opening.ratio, atMost: 3 },
  ])
})
