import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** @import { Desk } from '@askback/core' */

/** A question of the usual size. With the number its texts are unique, like those of real questions. */
export function questionFor(/** @type {number} */ number) {
  return {
    questions: [
      {
        header: 'Database',
        question: `Which database should service ${number} use for its job queue?`,
        multiSelect: false,
        options: [
          { label: 'PostgreSQL', description: `One more schema on the cluster that service ${number} has` },
          { label: 'SQLite', description: 'One file beside the process; nothing to operate' },
          { label: 'Redis', description: 'A list in memory, with the append-only file switched on' },
        ],
      },
    ],
  }
}

export const answer = { answers: [{ selected: ['SQLite'] }] }

export const person = { id: 'p_bench', name: 'Bench' }

/**
 * Answers every question in the next turn of the event loop after it is durable.
 *
 * @param {Desk} desk
 */
export function answerAll(desk) {
  const bound = desk.as({ by: person, via: 'web' })
  return desk.on(({ sessionId, events }) => {
    for (const event of events) {
      if (event.type !== 'interaction_request') continue
      const { interactionId } = event
      setImmediate(() => void bound.respond({ sessionId, interactionId, answer }))
    }
  })
}

/**
 * Each session asks, waits for the answer, and asks again.
 *
 * @param {Desk} desk
 * @param {{ sessions: string[]; each: number; from?: number }} size `from` is the number of the first question.
 */
export async function roundTrips(desk, { sessions, each, from = 0 }) {
  await Promise.all(
    sessions.map(async (id, index) => {
      const session = desk.session(id)
      for (let turn = 0; turn < each; turn++) {
        const settled = await session.ask(questionFor(from + index * each + turn))
        if (settled.settlement !== 'answered') throw new Error(`A question ended ${settled.settlement}.`)
      }
    }),
  )
}

/**
 * @param {Desk} desk
 * @param {number} count
 */
export async function createSessions(desk, count) {
  const ids = Array.from({ length: count }, (_, index) => `session-${index}`)
  for (let first = 0; first < count; first += 500) {
    await Promise.all(ids.slice(first, first + 500).map((id) => desk.createSession({ id, agent: null })))
  }
  return ids
}

/**
 * Runs `use` with a folder on the disk of the workspace. In a temporary folder in memory syncs would cost nothing.
 *
 * @template T
 * @param {(folder: string) => Promise<T>} use
 */
export async function inFolder(use) {
  const cache = fileURLToPath(new URL('../../node_modules/.cache/askback', import.meta.url))
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'bench-'))
  try {
    return await use(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
