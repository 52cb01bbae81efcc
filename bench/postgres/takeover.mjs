// From the kill of a gateway until its agent continues in another.
import { startPostgres } from '@askback/store-postgres/testing'
import { median, report } from '../core/measure.mjs'
import { startGateway } from './gateway.mjs'

const ROUNDS = 5
const LEASE_MS = 5000

const server = await startPostgres({ durable: true })
const takeovers = []
for (let round = 0; round < ROUNDS; round++) {
  const flags = ['--lease', `${LEASE_MS}ms`]
  const owner = await startGateway(server.url(), flags)
  const other = await startGateway(server.url(), flags)
  const { session } = await owner.call('POST', '/api/sessions', { body: { agent: 'demo' } })
  await owner.call('POST', `/api/sessions/${session.id}/messages`, { body: { text: 'parallel' } })
  const pending = async () => (await other.call('GET', `/api/sessions/${session.id}`)).state.pending
  while ((await pending()).length < 3) await new Promise((resolve) => setTimeout(resolve, 50))
  const first = (await pending()).find(({ kind }) => kind === 'question')
  const label = first?.request.questions[0]?.options[0]?.label
  if (!first) throw new Error('The agent asked no question.')
  await owner.stop('SIGKILL')
  const started = performance.now()
  await other.call('POST', `/api/sessions/${session.id}/interactions/${first.interactionId}/response`, {
    body: { answer: { answers: [{ selected: [label] }] } },
  })
  const resumed = async () => {
    const { state } = await other.call('GET', `/api/sessions/${session.id}`)
    return state.toolCalls.some(({ toolCallId, result }) => toolCallId === first.toolCallId && result)
  }
  while (!(await resumed())) await new Promise((resolve) => setTimeout(resolve, 50))
  takeovers.push(performance.now() - started)
  await other.stop()
}
await server.remove()
report([
  {
    what: `killed → agent resumed elsewhere, lease ${LEASE_MS / 1000} s`,
    value: median(takeovers) / 1000,
    unit: ' s',
    atMost: LEASE_MS / 1000 + 2,
  },
])
