// A question, its answer and the resumed waiter, with every step synced to the disk, against a loop that only writes the same rows.
import { createDesk } from '@askback/core'
import { sqliteStore } from '@askback/store-sqlite'
import { join } from 'node:path'
import { interleave, report, timed } from './measure.mjs'
import { bareLoop, watchWrites } from './recording.mjs'
import { answerAll, createSessions, inFolder, roundTrips } from './workload.mjs'

/** @import { Write } from './recording.mjs' */
/** @typedef {{ sessions: number; each: number }} Size */

const watch = watchWrites()
let databases = 0

/** Short turns, so that other work of the machine affects both sides equally. */
const TURNS = 10

/**
 * @param {string} folder
 * @param {Size} size
 */
async function compare(folder, size) {
  const { before, turns } = await recorded(folder, size)
  return interleave({
    turns: TURNS,
    async prepare() {
      const opened = await deskWith(folder, size)
      const writes = turns.map((turn) => turn.writes)
      return { ...opened, loop: bareLoop(nextPath(folder), before, writes) }
    },
    async a({ desk, ids }, turn) {
      watch.commits = 0
      const took = await timed(() => roundTrips(desk, partOf(ids, size, turn)))
      const commits = turns[turn]?.commits
      if (watch.commits !== commits) throw new Error(`${watch.commits} transactions, not ${commits}`)
      return took
    },
    b: ({ loop }, turn) => timed(() => loop.run(turn)),
    async end({ close, loop }) {
      loop.close()
      await close()
    },
  })
}

/**
 * Runs once and records the writes. The measured runs do not record, because that would slow them down.
 *
 * @param {string} folder
 * @param {Size} size
 */
async function recorded(folder, size) {
  /** @type {Write[]} */
  const before = (watch.notes = [])
  const { desk, ids, close } = await deskWith(folder, size)
  /** @type {{ writes: Write[]; commits: number }[]} */
  const turns = []
  for (let turn = 0; turn < TURNS; turn++) {
    /** @type {Write[]} */
    const writes = (watch.notes = [])
    watch.commits = 0
    await roundTrips(desk, partOf(ids, size, turn))
    turns.push({ writes, commits: watch.commits })
  }
  watch.notes = null
  await close()
  return { before, turns }
}

/**
 * @param {string[]} sessions
 * @param {Size} size
 * @param {number} turn
 */
function partOf(sessions, size, turn) {
  const each = size.each / TURNS
  return { sessions, each, from: turn * size.sessions * each }
}

/**
 * @param {string} folder
 * @param {Size} size
 */
async function deskWith(folder, size) {
  const store = sqliteStore({ path: nextPath(folder) })
  const desk = createDesk({ store })
  answerAll(desk)
  const ids = await createSessions(desk, size.sessions)
  const close = () => {
    desk.close()
    return store.close()
  }
  return { desk, ids, close }
}

/** @param {string} folder */
function nextPath(folder) {
  return join(folder, `${databases++}.db`)
}

await inFolder(async (folder) => {
  const many = await compare(folder, { sessions: 64, each: 200 })
  const one = await compare(folder, { sessions: 1, each: 500 })
  const what = 'speed / that of a loop that only writes the same'
  report([
    { what: `durable round trip, 64 sessions at once: ${what}`, value: 1 / many.ratio, atLeast: 0.6 },
    { what: `durable round trip, one at a time: ${what}`, value: 1 / one.ratio, atLeast: 0.6 },
  ])
})
