// An MCP server whose tools elicit an answer from the user before they return.
import { createInterface } from 'node:readline'

const requestedSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Name', minLength: 2 },
    nights: { type: 'integer', minimum: 1, maximum: 14, default: 2 },
    room: { type: 'string', enum: ['single', 'double'] },
    breakfast: { type: 'boolean' },
    extras: { type: 'array', items: { type: 'string', enum: ['sea view', 'quiet, at the back'] } },
  },
  required: ['name', 'nights'],
}

const asks = {
  book: { message: 'Who stays, and for how long?', requestedSchema },
  login: {
    mode: 'url',
    message: 'Log in to the hotel.',
    url: 'https://hotel.example/login',
    elicitationId: 'login-1',
  },
  secret: {
    message: 'Your password?',
    requestedSchema: { type: 'object', properties: { word: { type: 'string', format: 'password' } } },
  },
}

/** Asks nothing, and returns its arguments. */
const ECHO = 'WakeUpCall'

/** @type {Map<unknown, (result: unknown) => void>} */
const waiting = new Map()
let count = 0

/** @typedef {{ id?: unknown; method?: string; params?: Record<string, unknown>; result?: unknown; error?: unknown }} Message */

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, result, error } = /** @type {Message} */ (JSON.parse(line))
  if (method === undefined) return waiting.get(id)?.(result ?? error)
  if (method === 'initialize') {
    const protocolVersion = params?.protocolVersion
    const serverInfo = { name: 'hotel', version: '1.0.0' }
    return send({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } })
  }
  if (method === 'tools/list') {
    const tools = [...Object.keys(asks), ECHO].map((name) => ({ name, inputSchema: { type: 'object' } }))
    return send({ id, result: { tools } })
  }
  if (method === 'tools/call' && params?.name === ECHO)
    return send({ id, result: { content: [{ type: 'text', text: JSON.stringify(params.arguments) }] } })
  if (method === 'tools/call') return void call(id, /** @type {keyof typeof asks} */ (params?.name))
  if (id !== undefined) send({ id, result: {} })
})

/**
 * @param {unknown} id
 * @param {keyof typeof asks} name
 */
async function call(id, name) {
  /** @type {unknown} */
  const answer = await new Promise((resolve) => {
    const ask = `ask-${(count += 1)}`
    waiting.set(ask, resolve)
    send({ id: ask, method: 'elicitation/create', params: asks[name] })
  })
  send({ id, result: { content: [{ type: 'text', text: `The user said ${JSON.stringify(answer)}` }] } })
}

/** @param {object} message */
function send(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}
