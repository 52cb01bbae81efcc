import { expect, it } from 'vitest'
import { run, type RunningGateway } from '../http/gateways.js'
import { inShell, interactionOf, outcome, waitsFor, sharedGateway } from './asking.js'

async function report(gateway: RunningGateway, sessionId: string, toolCallId: string, command: string) {
  const body = { toolCallId, toolName: 'Bash', input: { command }, turnId: 't1', responseId: 'r1' }
  await gateway.call('POST', `/api/sessions/${sessionId}/tool-calls`, { body, as: gateway.ready.agentToken })
}

const shared = sharedGateway()

it('is anchored to the call that names it, with its turn and response', async () => {
  const gateway = shared()
  const sessionId = await gateway.session()
  await report(gateway, sessionId, 'asks', 'db=$(askback ask "Which?")')
  await report(gateway, sessionId, 'lists', 'ls')
  const command = run(['ask', 'Which?'], inShell(gateway, sessionId))
  const item = await interactionOf(gateway, await waitsFor(command))
  expect(item).toMatchObject({ toolCallId: 'asks', turnId: 't1', responseId: 'r1', anchor: 'matched' })
})

it('is anchored to the shell call that it runs in if the call does not name it', async () => {
  const gateway = shared()
  const sessionId = await gateway.session()
  await report(gateway, sessionId, 'script', './setup.sh')
  const command = run(['ask', 'Which?'], inShell(gateway, sessionId))
  expect(await interactionOf(gateway, await waitsFor(command))).toMatchObject({ toolCallId: 'script' })
})

it('two commands at once are each anchored to their own call', async () => {
  const gateway = shared()
  const sessionId = await gateway.session()
  await report(gateway, sessionId, 'one', 'askback ask "One?"')
  await report(gateway, sessionId, 'two', 'askback ask "Two?"')
  const both = [
    run(['ask', 'One?'], inShell(gateway, sessionId)),
    run(['ask', 'Two?'], inShell(gateway, sessionId)),
  ]
  const items = await Promise.all(
    both.map(async (command) => interactionOf(gateway, await waitsFor(command))),
  )
  expect(items.map(({ toolCallId }) => toolCallId).sort()).toEqual(['one', 'two'])
})

it('is anchored to the call that Codex names in the environment, even before it is reported', async () => {
  const gateway = shared()
  const sessionId = await gateway.session()
  await report(gateway, sessionId, 'other', 'askback ask')
  const env = inShell(gateway, sessionId, { CODEX_TOOL_CALL_ID: 'call_7', CODEX_THREAD_ID: 'thread' })
  const item = await interactionOf(gateway, await waitsFor(run(['ask', 'Which?'], env)))
  expect(item).toMatchObject({ sessionId, toolCallId: 'call_7', anchor: 'exact' })
})

it('inside a Codex that Askback did not start asks in a session of its thread', async () => {
  const { data, ...gateway } = shared()
  const ask = async (thread: string) => {
    const command = run(['ask', 'Which?', '--data', data], { CODEX_THREAD_ID: thread })
    const id = await waitsFor(command)
    const response = await fetch(`${gateway.ready.url}/api/interactions/${id}`, {
      headers: { authorization: `Bearer ${gateway.ready.token}` },
    })
    return ((await response.json()) as { interaction: { sessionId: string } }).interaction.sessionId
  }
  const [a, again, b] = await Promise.all([ask('a'), ask('a'), ask('b')])
  expect(again).toBe(a)
  expect(b).not.toBe(a)
})

it('says in one sentence that a session does not exist', async () => {
  const gateway = shared()
  expect(await outcome(['ask', 'Which?'], inShell(gateway, 'nowhere'))).toEqual({
    code: 1,
    stdout: '',
    stderr: 'There is no session nowhere.\n',
  })
})
