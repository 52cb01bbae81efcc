// A gateway with sessions for the measurements. It sends their ids to its parent, and runs until it is killed.
import { demoAgent } from '@askback/agents/demo'
import { createDesk, createHost, memoryStore } from '@askback/core'
import { createCredentials, createGateway, gatewayConfig, Metrics } from '@askback/gateway'
import { answer, turnsOf } from './workload.mjs'

const store = memoryStore()
const desk = createDesk({ store })
const script = { turns: [{ steps: [{ do: /** @type {const} */ ('say'), text: answer(4000) }] }] }
const host = createHost({ desk, agents: [demoAgent({ script, paceMs: 4 })], onError: console.error })
const credentials = await createCredentials({
  store,
  owner: { name: 'me', tokens: ['a-token-that-only-this-benchmark-knows'] },
  agentToken: 'another-token-that-only-this-benchmark-knows',
  loginDays: 1,
  onError: console.error,
})
const gateway = createGateway({
  host,
  store,
  credentials,
  config: gatewayConfig.parse({ logLevel: 'silent' }),
  metrics: new Metrics(),
  version: '0.0.0',
  log: process.stderr,
  webApp: process.argv[2] ?? '',
})
const url = await gateway.listen({ host: '127.0.0.1', port: 0 })

/**
 * @param {number} events
 * @returns {Promise<string>}
 */
async function createSession(events) {
  const { session: created } = await desk.createSession({ agent: 'demo', title: `${events} events` })
  for (const turn of turnsOf(events)) await desk.report({ sessionId: created.id, events: turn })
  return created.id
}

/** @returns {Promise<string>} */
async function createQuestion() {
  const { session: created } = await desk.createSession({ agent: null, title: 'It asks' })
  const options = [{ label: 'SQLite' }, { label: 'Postgres' }]
  const questions = [{ header: 'Database', question: 'Which database?', options, multiSelect: false }]
  await desk.open({ sessionId: created.id, kind: 'question', toolName: 'ask_user', request: { questions } })
  return created.id
}

const ready = {
  url,
  openUrl: `${url}/login?code=${credentials.createLoginCode(credentials.owner)}`,
  short: await createSession(100),
  long: await createSession(10_000),
  many: await Promise.all(Array.from({ length: 50 }, () => createSession(200))),
  asking: await Promise.all(Array.from({ length: 20 }, createQuestion)),
}
process.send?.(ready)
process.on('disconnect', () => process.exit())
