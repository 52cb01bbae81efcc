// Ask, answer, resumed with every step synced to the disk, against a loop that only writes the same rows.
import { createDesk } from '@askback/core'
import { sqliteStore } from '@askback/store-sqlite'
import { join } from 'node:path'
import { interleave, report, timed } from './measure.mjs'
import { bareLoop, recordWrites } from './recording.mjs'
import { answerAll, createSessions, inFolder, roundTrips } from './workload.mjs'

const recorded = recordWrites()
let made = 0

/**
 * @param {string} folder
 * @param {{ sessions: number; each: number }} size
 */
function compare(folder, size) {
  return interleave({
    async prepare() {
      const path = join(folder, `${made++}`)
      recorded.length = 0
      const store = sqliteStore({ path: `${path}-desk.db` })
      const desk = createDesk({ store })
      answerAll(desk)
      const sessions = await createSessions(desk, size.sessions)
      return { path, store, desk, sessions, before: recorded.splice(0) }
    },
    async a({ store, desk, sessions }) {
      const took = await timed(() => roundTrips(desk, { sessions, each: size.each }))
      desk.close()
      await store.close()
      return took
    },
    async b({ path, before }) {
      const loop = bareLoop(`${path}-bare.db`, before, recorded.splice(0))
      const took = await timed(() => loop.run())
      loop.close()
      return took
    },
  })
}

await inFolder(async (folder) => {
  const many = await compare(folder, { sessions: 64, each: 50 })
  const one = await compare(folder, { sessions: 1, each: 500 })
  report([
    {
      what: 'durable round trip, 64 sessions at once: speed / bare writes',
      value: 1 / many.ratio,
      atLeast: 0.6,
    },
    { what: 'durable round trip, one at a time: speed / bare writes', value: 1 / one.ratio, atLeast: 0.6 },
  ])
})
