// The minimum for a durable round trip: node:http, SSE, and SQLite that is synced before anything is acknowledged.
import { createRequire } from 'node:module'
import { createServer } from 'node:http'
import { randomUUID } from 'node:crypto'
import { serve, withBody } from './bare-server.mjs'

const require = createRequire(new URL('../../packages/store-sqlite/package.json', import.meta.url))
const Database = /** @type {new (path: string) => import('libsql').Database} */ (require('libsql'))
const db = new Database(`${process.argv[2]}/floor.db`)
db.pragma('journal_mode = WAL')
db.pragma('synchronous = FULL')
db.exec('CREATE TABLE log (session TEXT, seq INTEGER, body TEXT, PRIMARY KEY (session, seq)) WITHOUT ROWID')
const insert = db.prepare('INSERT INTO log VALUES (?, ?, ?)')

/** @typedef {import('node:http').ServerResponse} Response */
/** @typedef {{ seq: number; readers: Set<import('node:net').Socket>; waiting: Map<string, Response> }} Session */

/** @type {Map<string, Session>} */
const sessions = new Map()
/** @type {{ write: () => void; committed: () => void }[]} */
let group = []

/**
 * @param {string} id
 * @returns {Session}
 */
function sessionOf(id) {
  const known = sessions.get(id)
  if (known) return known
  const session = { seq: 0, readers: new Set(), waiting: new Map() }
  sessions.set(id, session)
  return session
}

/**
 * @param {string} sessionId
 * @param {object} fields
 * @param {() => void} committed
 */
function append(sessionId, fields, committed) {
  const session = sessionOf(sessionId)
  const event = { seq: ++session.seq, id: randomUUID(), sessionId, at: Date.now(), ...fields }
  const body = JSON.stringify(event)
  if (group.length === 0) setImmediate(commit)
  group.push({
    write: () => insert.run([sessionId, event.seq, body]),
    committed() {
      const frame = Buffer.from(
        `id: ${event.seq}\nevent: ${/** @type {{ type: string }} */ (fields).type}\ndata: ${body}\n\n`,
      )
      for (const reader of session.readers) reader.write(frame)
      committed()
    },
  })
}

function commit() {
  const appends = group
  group = []
  db.exec('BEGIN IMMEDIATE')
  for (const { write } of appends) write()
  db.exec('COMMIT')
  for (const { committed } of appends) committed()
}

/**
 * @param {Response} response
 * @param {object} body
 */
function answer(response, body) {
  const text = JSON.stringify(body)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.end(text)
}

const server = createServer((request, response) => {
  const [, , , id = '', , interactionId] = (request.url ?? '').split('?', 1)[0]?.split('/') ?? []
  if (request.method === 'GET') {
    response.removeHeader('transfer-encoding')
    response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' })
    response.flushHeaders()
    if (response.socket) sessionOf(id).readers.add(response.socket)
    return
  }
  withBody(request, (/** @type {object} */ body) => {
    const { waiting } = sessionOf(id)
    if (interactionId === undefined) {
      const asked = randomUUID()
      waiting.set(asked, response)
      append(id, { type: 'interaction_request', interactionId: asked, ...body }, () => {})
    } else {
      const settled = { interactionId, ...body }
      append(id, { type: 'interaction_response', ...settled }, () => {
        answer(response, { interaction: settled })
        const waiter = waiting.get(interactionId)
        waiting.delete(interactionId)
        if (waiter) answer(waiter, { interaction: settled })
      })
    }
  })
})

serve(server)
