import type { Interaction } from '@askback/protocol'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { newFolder } from '../../e2e/http/command.js'
import { at, question, type RunningGateway } from '../../e2e/http/gateways.js'
import type { Endpoint, ModelRequest } from './endpoint.js'
import { mcpHosts } from './mcp-hosts.js'
import { answerAt, pendingAt, startGateway } from './outside-gateway.js'

const questions = [{ question: 'Which colour?', options: [{ label: 'Red' }, { label: 'Blue' }] }]
const find = { id: /wait_for_answer with id \W*(\w{20,})/ }
/** After this time the host gives up a call. By default most hosts do so after 60 seconds. */
const giveUpSeconds = 3
const args = ['--wait', '1s']
/** Together these calls take longer than the host waits for one. */
const ROUNDS = 3

let gateway: RunningGateway
beforeAll(async () => {
  gateway = await startGateway(newFolder())
})
afterAll(() => gateway.stop('SIGKILL'))

/** Resolves when a request of its own has timed out, which takes longer than the server waits in a call. */
async function longerThanOneCall(): Promise<void> {
  const path = `/api/sessions/${await gateway.session()}/interactions`
  const body = { ...question, timeoutMs: 2000 }
  const opened = await gateway.call<{ interaction: Interaction }>('POST', path, { body })
  const waits = `${at(opened.body.interaction)}?wait=20`
  const { body: settled } = await gateway.call<{ interaction: Interaction }>('GET', waits)
  expect(settled.interaction).toMatchObject({ settlement: 'timed_out' })
}

describe.each(mcpHosts)('$name, with a person who takes longer than it waits for a call', (host) => {
  let endpoint: Endpoint
  beforeAll(async () => {
    endpoint = await host.startEndpoint()
  })
  afterEach(() => expect(endpoint.problems).toEqual([]))
  afterAll(() => endpoint.close())

  const ask = { tool: host.toolName('ask_user'), input: { questions } }
  const approve = { tool: host.toolName('request_approval'), input: { tool: 'deploy', input: {} } }
  const wait = { tool: host.toolName('wait_for_answer'), input: { id: '{{id}}' } }

  it.each([
    ['the answer', ask, { answers: [{ selected: ['Blue'] }] }, '"Which colour?" = "Blue"'],
    ['the approval', approve, { decision: 'approve' }, 'Approved, this once'],
  ])('gets %s, and nothing is asked twice', async (_, call, answer, expected) => {
    const when = `now ${call.tool}`
    const rounds = host.repeatsCalls ? 0 : ROUNDS
    endpoint.add({
      when,
      find,
      steps: [
        { say: [call] },
        ...Array.from({ length: rounds }, () => ({ expects: ['Still waiting'], say: [wait] })),
        { expects: [expected], say: [{ text: 'I see.' }] },
      ],
    })
    const done = host.run(when, { gateway, url: endpoint.url, args, giveUpSeconds })
    const item = await Promise.race([
      pendingAt(gateway),
      done.then((said) => Promise.reject(new Error(`${host.name} ended without asking: ${said}`))),
    ])
    await longerThanOneCall()
    const saysStillWaiting = ({ received }: ModelRequest) => received.all.join().includes('Still waiting')
    await expect
      .poll(() => endpoint.of(when).filter(saysStillWaiting).length, { timeout: 30_000 })
      .toBe(rounds)
    const { body } = await gateway.call<{ interactions: unknown[] }>('GET', '/api/interactions')
    expect(body.interactions).toMatchObject([{ interactionId: item.interactionId }])
    await answerAt(gateway, item, answer)
    expect(await done).toContain('I see.')
  })
})
