// A gateway as people run it, with what the measurements look at: prints where it is, and runs until it is killed.
import { demoAgent } from '@askback/agents/demo'
import { createDesk, createHost, memoryStore } from '@askback/core'
import { createCredentials, createGateway, gatewayConfig, Metrics } from '@askback/gateway'
import { answer, turnsOf } from './workload.mjs'

const store = memoryStore()
const desk = createDesk({ store })
const script = { turns: [{ steps: [{ do: /** @type {const} */ ('say'), text: answer(4000) }] }] }
const host = createHost({ desk, agents: [demoAgent({ script, pace: 4 })], onError: console.error })
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
async function session(events) {
  const { session: made } = await desk.createSession({ agent: 'demo', title: `${events} events` })
  for (const turn of turnsOf(events)) await desk.report({ sessionId: made.id, events: turn })
  return made.id
}

/** @returns {Promise<string>} */
async function asking() {
  const { session: made } = await desk.createSession({ agent: null, title: 'It asks' })
  const options = [{ label: 'SQLite' }, { label: 'Postgres' }]
  const questions = [{ header: 'Database', question: 'Which database?', options, multiSelect: false }]
  await desk.open({ sessionId: made.id, kind: 'question', toolName: 'ask_user', request: { questions } })
  return made.id
}

const ready = {
  url,
  openUrl: `${url}/login?code=${credentials.loginCode(credentials.owner)}`,
  short: await session(100),
  long: await session(10_000),
  many: await Promise.all(Array.from({ length: 50 }, () => session(200))),
  asking: await Promise.all(Array.from({ length: 20 }, asking)),
}
process.send?.(ready)
process.on('disconnect', () => process.exit())
