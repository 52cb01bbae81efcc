// From the start of a process to an acknowledged answer, on a database with 10,000 pending interactions.
import { createDesk } from '@askback/core'
import { sqliteStore } from '@askback/store-sqlite'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median, report } from './measure.mjs'
import { createSessions, inFolder, questionFor } from './workload.mjs'

const PENDING = 10_000
const ROUNDS = 5

/**
 * @param {string} path
 * @param {number} count How many sessions share them.
 */
async function fill(path, count) {
  const store = sqliteStore({ path })
  const desk = createDesk({ store })
  const sessions = await createSessions(desk, count)
  const interactions = []
  for (let first = 0; first < PENDING; first += 500) {
    const opened = Array.from({ length: 500 }, (_, index) => {
      const number = first + index
      const sessionId = sessions[number % count] ?? ''
      return desk.open({ sessionId, kind: 'question', request: questionFor(number) })
    })
    for (const { interaction } of await Promise.all(opened)) interactions.push(interaction)
  }
  desk.close()
  await store.close()
  return interactions
}

/** @param {string[]} args The database, and which interaction of which session to answer. */
async function answerInNewProcess(args) {
  const started = performance.now()
  const child = fork(fileURLToPath(new URL('recovering-process.mjs', import.meta.url)), args)
  const message = await once(child, 'message')
  const took = performance.now() - started
  await once(child, 'exit')
  return { took, residentBytes: Number(message[0]) }
}

/**
 * @param {string} folder
 * @param {number} count
 */
async function measure(folder, count) {
  const path = join(folder, `${count}.db`)
  const interactions = await fill(path, count)
  const rounds = []
  for (let round = 0; round < ROUNDS; round++) {
    const { sessionId = '', interactionId = '' } =
      interactions[Math.floor(((round + 0.5) * PENDING) / ROUNDS)] ?? {}
    rounds.push(await answerInNewProcess([path, sessionId, interactionId]))
  }
  const what = `10,000 pending in ${count.toLocaleString('en')} sessions`
  return [
    {
      what: `${what}: a fresh process has answered one`,
      value: median(rounds.map(({ took }) => took)) / 1000,
      unit: ' s',
      atMost: 1,
    },
    {
      what: `${what}: its resident memory`,
      value: median(rounds.map(({ residentBytes }) => residentBytes)) / 2 ** 20,
      unit: ' MB',
      atMost: 150,
    },
  ]
}

await inFolder(async (folder) => {
  report([...(await measure(folder, PENDING)), ...(await measure(folder, 2))])
})
