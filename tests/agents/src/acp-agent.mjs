// A scripted agent of the Agent Client Protocol, made with its official library. It has no model: the message says what it does.
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { agent, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk'

/** @typedef {import('@agentclientprotocol/sdk').AgentContext} Client */

const memory = join(process.env['HOME'] ?? '/nowhere', 'acp-sessions.json')
const sessions = /** @type {Record<string, string[]>} */ (
  existsSync(memory) ? JSON.parse(readFileSync(memory, 'utf8')) : {}
)
/** @type {Map<string, AbortController>} */
const running = new Map()

/** The agent that it imitates: its name, and its modes, of which it starts in the first. */
const like = /** @type {{ name?: string, modes?: string[], by?: 'modes' | 'configOptions' }} */ (
  JSON.parse(process.env['SCRIPTED_LIKE'] ?? '{}')
)
let currentMode = like.modes?.[0] ?? ''

agent({ name: 'scripted' })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: PROTOCOL_VERSION,
    agentCapabilities: { loadSession: true },
    ...(like.name !== undefined && { agentInfo: { name: like.name, version: '1.0.0' } }),
  }))
  .onRequest(methods.agent.session.new, () => {
    const sessionId = randomUUID()
    remember(sessionId, [])
    return { sessionId, ...offeredModes() }
  })
  .onRequest(methods.agent.session.setMode, async ({ params: { sessionId, modeId }, client }) => {
    if (like.name === 'stubborn') throw new Error('That mode is not allowed here.')
    currentMode = modeId
    await update(client, sessionId, { sessionUpdate: 'current_mode_update', currentModeId: modeId })
    return {}
  })
  .onRequest(methods.agent.session.setConfigOption, ({ params }) => {
    if (params.configId === 'mode') currentMode = String(params.value)
    return { configOptions: modeOptions() }
  })
  .onRequest(methods.agent.session.load, async ({ params: { sessionId }, client }) => {
    const said = sessions[sessionId]
    if (!said) throw new Error(`no session ${sessionId}`)
    for (const text of said) await update(client, sessionId, chunk(`You said ${text}`))
    return {}
  })
  .onRequest(methods.agent.session.prompt, async ({ params: { sessionId, prompt }, client }) => {
    const cancelled = new AbortController()
    running.set(sessionId, cancelled)
    const text = prompt.map((part) => ('text' in part ? part.text : '')).join('')
    remember(sessionId, [...(sessions[sessionId] ?? []), text])
    await work(client, sessionId, text)
    return { stopReason: cancelled.signal.aborted ? 'cancelled' : 'end_turn' }
  })
  .onNotification(methods.agent.session.cancel, ({ params: { sessionId } }) => {
    running.get(sessionId)?.abort()
  })
  .connect(
    ndJsonStream(
      Writable.toWeb(process.stdout),
      /** @type {ReadableStream<Uint8Array>} */ (/** @type {unknown} */ (Readable.toWeb(process.stdin))),
    ),
  )

const options = /** @type {const} */ ([
  { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
  { optionId: 'always', name: 'Always', kind: 'allow_always' },
  { optionId: 'no', name: 'No', kind: 'reject_once' },
])

/**
 * @param {Client} client
 * @param {string} sessionId
 * @param {string} text
 */
async function work(client, sessionId, text) {
  const say = (/** @type {string} */ said) => update(client, sessionId, chunk(said))
  if (text.includes('say hello')) {
    await say('Hello. What ')
    return say('shall we do today?')
  }
  if (text.includes('what do you know')) return say(`I know ${JSON.stringify(sessions[sessionId])}.`)
  if (text.includes('fail now')) throw new Error('out of ideas')
  if (text.includes('die now')) process.exit(3)
  if (text.includes('make a list')) {
    const entries = [
      {
        content: 'Think',
        priority: /** @type {const} */ ('high'),
        status: /** @type {const} */ ('in_progress'),
      },
    ]
    return update(client, sessionId, { sessionUpdate: 'plan', entries })
  }
  if (text.includes('ask me')) return say(`You answered ${JSON.stringify(await elicit(client, sessionId))}.`)
  if (text.includes('open a page')) {
    const page = { mode: /** @type {const} */ ('url'), elicitationId: 'p1', url: 'https://example.org/login' }
    return say(
      JSON.stringify(
        await client.request(methods.client.elicitation.create, { sessionId, message: 'Log in.', ...page }),
      ),
    )
  }
  if (text.includes('secret')) return say(JSON.stringify(await elicit(client, sessionId, secret)))
  if (text.includes('noise')) {
    process.stdout.write('This is no message.\n[1]\n{"jsonrpc":"2.0","method":"_new/thing","params":{}}\n')
    return say('Still here.')
  }
  if (text.includes('a plan')) return say(JSON.stringify(await plan(client, sessionId)))
  if (text.includes('make a file')) return touch(client, sessionId, text)
  if (text.includes('in pieces')) return runInPieces(client, sessionId, text)
  if (text.includes('which mode')) return say(`I am in ${currentMode}.`)
  if (text.includes('go wild')) {
    currentMode = 'yolo'
    await update(client, sessionId, { sessionUpdate: 'current_mode_update', currentModeId: currentMode })
    return say('Now I do as I like.')
  }
  return say(`I heard: ${text}`)
}

const nights = { nights: { type: /** @type {const} */ ('integer'), minimum: 1 } }
const secret = { key: { type: /** @type {const} */ ('string'), format: 'password' } }

/** Hands in a plan as agents do: by asking to leave plan mode. */
async function plan(/** @type {Client} */ client, /** @type {string} */ sessionId) {
  return client.request(methods.client.session.requestPermission, {
    sessionId,
    toolCall: {
      toolCallId: randomUUID(),
      title: 'Ready?',
      kind: 'switch_mode',
      rawInput: { plan: '# Do it' },
    },
    options: [...options],
  })
}

/** @param {Client} client @param {string} sessionId @param {object} properties */
async function elicit(client, sessionId, properties = nights) {
  const toolCallId = randomUUID()
  await update(client, sessionId, {
    sessionUpdate: 'tool_call',
    toolCallId,
    title: 'Book a room',
    rawInput: { hotel: 'Sea' },
  })
  const answer = await client.request(methods.client.elicitation.create, {
    sessionId,
    toolCallId,
    mode: 'form',
    message: 'How many nights?',
    requestedSchema: {
      type: 'object',
      properties: /** @type {typeof nights} */ (properties),
      required: Object.keys(properties),
    },
  })
  await update(client, sessionId, { sessionUpdate: 'tool_call_update', toolCallId, status: 'completed' })
  return answer
}

/** @param {Client} client @param {string} sessionId @param {string} text */
async function touch(client, sessionId, text) {
  const toolCallId = randomUUID()
  const call = { toolCallId, title: 'Write made.txt', kind: /** @type {const} */ ('edit') }
  const path = join(process.cwd(), 'made.txt')
  const content = [{ type: /** @type {const} */ ('diff'), path, oldText: null, newText: 'made\n' }]
  if (!text.includes('unannounced'))
    await update(client, sessionId, { sessionUpdate: 'tool_call', status: 'pending', ...call })
  /** @type {import('@agentclientprotocol/sdk').RequestPermissionResponse} */
  const { outcome } = await client.request(methods.client.session.requestPermission, {
    sessionId,
    toolCall: { ...call, content, rawInput: { path, text: 'made\n' } },
    options: offered(text),
  })
  writeFileSync(join(process.env['HOME'] ?? '/nowhere', 'outcome.json'), JSON.stringify(outcome))
  const isAllowed = outcome.outcome === 'selected' && outcome.optionId === 'yes'
  if (isAllowed) writeFileSync(path, 'made\n')
  await update(client, sessionId, {
    sessionUpdate: 'tool_call_update',
    toolCallId,
    status: isAllowed ? 'completed' : 'failed',
    content: [{ type: 'content', content: { type: 'text', text: JSON.stringify(outcome) } }],
  })
}

/** @param {string} text */
function offered(text) {
  if (text.includes('no way back')) return options.slice(0, 2)
  if (!text.includes('for good')) return [...options]
  return /** @type {const} */ ([
    { optionId: 'always', name: 'Always', kind: 'allow_always' },
    { optionId: 'never', name: 'Never', kind: 'reject_always' },
  ]).slice()
}

/**
 * A command whose input comes in several updates, as OpenCode sends it: first the folder, then the command. Its permission request
 * names only the command.
 * @param {Client} client
 * @param {string} sessionId
 * @param {string} text
 */
async function runInPieces(client, sessionId, text) {
  const toolCallId = randomUUID()
  const call = { toolCallId, title: 'bash', kind: /** @type {const} */ ('execute') }
  const cwd = process.cwd()
  const whole = { command: 'make all', description: 'Builds it', cwd }
  await update(client, sessionId, {
    sessionUpdate: 'tool_call',
    status: 'pending',
    ...call,
    rawInput: { cwd },
  })
  const complete = () =>
    update(client, sessionId, {
      sessionUpdate: 'tool_call_update',
      status: 'in_progress',
      ...call,
      rawInput: whole,
    })
  const ask = (/** @type {object} */ rawInput) =>
    client.request(methods.client.session.requestPermission, {
      sessionId,
      toolCall: { ...call, status: 'pending', rawInput },
      options: [...options],
    })
  /** @type {unknown} */
  let answer = null
  if (text.includes('changed while I ask')) {
    const asked = ask({ command: 'make' })
    await waitForFile('go-on')
    await complete()
    answer = await asked
  } else {
    await complete()
    if (text.includes('and ask')) answer = await ask({ command: whole.command })
  }
  await update(client, sessionId, {
    sessionUpdate: 'tool_call_update',
    toolCallId,
    status: 'completed',
    content: [{ type: 'content', content: { type: 'text', text: JSON.stringify(answer) } }],
  })
}

/** Resolves when a test has created this file in the agent's home. @param {string} name */
function waitForFile(name) {
  const path = join(process.env['HOME'] ?? '/nowhere', name)
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (!existsSync(path)) return
      clearInterval(timer)
      resolve(undefined)
    }, 20)
  })
}

function offeredModes() {
  if (!like.modes) return {}
  if (like.by === 'configOptions') return { configOptions: modeOptions() }
  return { modes: { currentModeId: currentMode, availableModes: like.modes.map((id) => ({ id, name: id })) } }
}

function modeOptions() {
  const values = (like.modes ?? []).map((value) => ({ value, name: value }))
  return [
    {
      id: 'mode',
      name: 'Mode',
      category: 'mode',
      type: /** @type {const} */ ('select'),
      currentValue: currentMode,
      options: values,
    },
  ]
}

/** @param {string} text */
function chunk(text) {
  return /** @type {const} */ ({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } })
}

/**
 * @param {Client} client
 * @param {string} sessionId
 * @param {import('@agentclientprotocol/sdk').SessionUpdate} content
 */
function update(client, sessionId, content) {
  return client.notify(methods.client.session.update, { sessionId, update: content })
}

/** @param {string} sessionId @param {string[]} said */
function remember(sessionId, said) {
  sessions[sessionId] = said
  writeFileSync(memory, JSON.stringify(sessions))
}
