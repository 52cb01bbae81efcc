// The heap that 100,000 pending interactions need beyond their own payload, each with its waiter in this process.
import { createDesk, memoryStore } from '@askback/core'
import { copyJson } from '@askback/protocol'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { median, report } from './measure.mjs'
import { createSessions, questionFor } from './workload.mjs'

const PENDING = 100_000
const ROUNDS = 5

/** Each amount is measured in its own process, so that nothing else changes the heap. */
const amounts = {
  payload() {
    const before = heapUsed()
    const requests = Array.from({ length: PENDING }, (_, number) => copyJson(received(number)))
    const bytes = heapUsed() - before
    return requests.length === PENDING ? bytes : NaN
  },
  sessionEach: () => pending(PENDING),
  fewSessions: () => pending(20),
}

const amount = /** @type {keyof typeof amounts | undefined} */ (process.argv[2])
if (amount) process.send?.((await amounts[amount]()) / PENDING)
else await compare()

async function compare() {
  const each = []
  for (let round = 0; round < ROUNDS; round++) {
    const payload = await measured('payload')
    each.push({
      sessionEach: (await measured('sessionEach')) - payload,
      fewSessions: (await measured('fewSessions')) - payload,
    })
  }
  const what = 'heap of each beyond its payload'
  report([
    {
      what: `100,000 pending in as many sessions: ${what}`,
      value: median(each.map((round) => round.sessionEach)),
      unit: ' B',
      atMost: 2048,
    },
    {
      what: `100,000 pending in 20 sessions: ${what}`,
      value: median(each.map((round) => round.fewSessions)),
      unit: ' B',
      atMost: 2048,
    },
  ])
}

/**
 * @param {keyof typeof amounts} name
 * @returns {Promise<number>} Bytes for each.
 */
async function measured(name) {
  const child = fork(fileURLToPath(import.meta.url), [name], { execArgv: ['--expose-gc'] })
  const message = await Promise.race([once(child, 'message'), once(child, 'exit').then(() => [])])
  child.kill()
  return Number(message[0])
}

/** @param {number} count How many sessions share them. */
async function pending(count) {
  const store = memoryStore()
  const desk = createDesk({ store, limits: { sessions: Infinity, pendingPerSession: Infinity } })
  const sessions = (await createSessions(desk, count)).map((id) => desk.session(id))
  const before = heapUsed()
  for (let number = 0; number < PENDING; number++) {
    void sessions[number % count]?.ask(received(number))
    if (number % 100 === 99) await new Promise((resolve) => setImmediate(resolve))
  }
  const bytes = heapUsed() - before
  return (await store.countPending()) === PENDING ? bytes : NaN
}

/** A request as it is received: it shares no strings with others. */
function received(/** @type {number} */ number) {
  return /** @type {ReturnType<typeof questionFor>} */ (JSON.parse(JSON.stringify(questionFor(number))))
}

function heapUsed() {
  if (!globalThis.gc) throw new Error('Run this with --expose-gc.')
  // The first run may only finish a collection that had begun before.
  for (let run = 0; run < 3; run++) globalThis.gc()
  return process.memoryUsage().heapUsed
}
