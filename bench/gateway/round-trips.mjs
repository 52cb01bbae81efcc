import { median } from '../core/measure.mjs'
import { Connection } from './connection.mjs'
import { SseReader } from './sse-reader.mjs'

/** @import { Server } from './servers.mjs' */

const question = {
  kind: 'question',
  toolCallId: 'bench',
  request: {
    questions: [
      {
        header: 'Database',
        question: 'Which database should this service use for its job queue?',
        multiSelect: false,
        options: [
          { label: 'PostgreSQL', description: 'One more schema on the cluster that we have' },
          { label: 'SQLite', description: 'One file beside the process; nothing to operate' },
          { label: 'Redis', description: 'A list in memory, with the append-only file switched on' },
        ],
      },
    ],
  },
}
const answer = { answer: { answers: [{ selected: ['SQLite'] }] } }

/**
 * The median time of a round trip, one at a time, in milliseconds.
 *
 * @param {Pair} pair
 * @param {number} count
 */
export async function medianTrip(pair, count) {
  const took = []
  for (let trip = 0; trip < count; trip++) {
    const started = performance.now()
    await pair.trip()
    took.push(performance.now() - started)
  }
  return median(took)
}

/** An agent that asks by long poll, and a person who follows over SSE and answers. */
export class Pair {
  #server
  #id
  #asker
  #person
  #screen

  /**
   * @param {Server} server
   * @param {string} sessionId
   */
  constructor(server, sessionId) {
    this.#server = server
    this.#id = sessionId
    this.#asker = new Connection(server.url)
    this.#person = new Connection(server.url)
    this.#screen = new SseReader(server.url, {
      path: `/api/sessions/${sessionId}/events`,
      token: server.token,
    })
  }

  /**
   * @param {Server} server
   * @param {string} sessionId
   */
  static async open(server, sessionId) {
    const pair = new Pair(server, sessionId)
    await pair.#screen.opened
    return pair
  }

  /** Asks, waits for the event, answers, and waits for the response of the long poll and the event of the answer. */
  async trip() {
    const { token, agentToken } = this.#server
    const path = `/api/sessions/${this.#id}/interactions`
    const resumed = this.#asker.request('POST', `${path}?wait=25`, { token: agentToken, body: question })
    const asked = await this.#screen.next('interaction_request')
    const interactionId = /"interactionId":"([^"]+)"/.exec(asked)?.[1]
    await Promise.all([
      this.#person.request('POST', `${path}/${interactionId}/response`, { token, body: answer }),
      resumed,
      this.#screen.next('interaction_response'),
    ])
    if (!(await resumed).includes('SQLite')) throw new Error('The long poll did not return the answer.')
  }

  close() {
    for (const one of [this.#asker, this.#person, this.#screen]) one.close()
  }
}

/**
 * Creates sessions without an agent.
 *
 * @param {Server} server
 * @param {number} count
 * @returns {Promise<string[]>}
 */
export async function createSessions(server, count) {
  /** @type {string[]} */
  const ids = []
  await forEach(server, Array.from({ length: count }), async (connection) => {
    const text = await connection.request('POST', '/api/sessions', {
      token: server.token,
      body: { agent: null },
    })
    const { session } = /** @type {{ session: { id: string } }} */ (JSON.parse(text))
    ids.push(session.id)
  })
  return ids
}

/**
 * Opens one question in each session, which nobody answers.
 *
 * @param {Server} server
 * @param {string[]} sessionIds
 */
export async function park(server, sessionIds) {
  const { agentToken: token } = server
  const body = { ...question, timeoutMs: null }
  await forEach(server, sessionIds, async (connection, id) => {
    await connection.request('POST', `/api/sessions/${id}/interactions`, { token, body })
  })
}

/**
 * Runs `work` for each item, on up to 32 connections.
 *
 * @template Item
 * @param {Server} server
 * @param {Item[]} items
 * @param {(connection: Connection, item: Item) => Promise<void>} work
 */
async function forEach(server, items, work) {
  const left = items.values()
  await Promise.all(
    Array.from({ length: Math.min(32, items.length) }, async () => {
      const connection = new Connection(server.url)
      for (const item of left) await work(connection, item)
      connection.close()
    }),
  )
}
