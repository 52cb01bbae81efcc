import type { ToolCall } from '@askback/protocol'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Api, approval, question, startTestGateway, type TestGateway } from '../testing/index.js'

type One = { toolCall: ToolCall }

let gateway: TestGateway
let agent: Api
let id: string
let path: string
beforeEach(async () => {
  gateway = await startTestGateway({ listen: false })
  agent = new Api(gateway, gateway.agentToken)
  id = await agent.session()
  path = `/api/sessions/${id}/tool-calls`
})
afterEach(() => gateway.close())

const call = { toolCallId: 'c', toolName: 'Bash', input: { command: 'ls' } }

it('records a call once, whatever is reported under its id later', async () => {
  const first = await agent.post<One>(path, { ...call, turnId: 't', responseId: 'r' })
  const again = await agent.post<One>(path, { ...call, toolName: 'Other' })
  expect(first).toMatchObject({
    status: 201,
    body: { toolCall: { ...call, turnId: 't', responseId: 'r', source: 'http' } },
  })
  expect(again).toMatchObject({ status: 200, body: first.body })
  expect(await gateway.store.read({ sessionId: id, limit: 10 })).toHaveLength(2)
})

it('gives an id to a call that has none', async () => {
  const { toolCallId: _, ...anonymous } = call
  const ids = [await agent.post<One>(path, anonymous), await agent.post<One>(path, anonymous)]
  expect(new Set(ids.map(({ body }) => body.toolCall.toolCallId)).size).toBe(2)
})

it('records its result once, and refuses results of unknown calls', async () => {
  await agent.post(path, call)
  expect((await agent.post(`${path}/c/result`, { output: 'a' })).status).toBe(200)
  expect((await agent.post(`${path}/c/result`, { output: 'b', isError: true })).status).toBe(200)
  expect(await agent.post(`${path}/d/result`, { output: '' })).toMatchObject({
    status: 404,
    body: { error: { code: 'not_found' } },
  })
  const { state } = await gateway.host.desk.snapshot(id)
  expect(state.toolCalls[0]?.result).toMatchObject({ output: 'a', isError: false })
})

it('ends a call that is only a placeholder for its interaction', async () => {
  const item = await agent.open(id, { ...approval, toolCallId: 'only-asked' })
  expect((await agent.post(`${path}/only-asked/result`, { output: 'boom', isError: true })).status).toBe(200)
  const { desk } = gateway.host
  expect(await desk.interaction(id, item.interactionId)).toMatchObject({ settlement: 'cancelled' })
  expect((await desk.snapshot(id)).state.toolCalls).toMatchObject([
    { toolCallId: 'only-asked', result: { output: 'boom', isError: true } },
  ])
})

it('[L7] ends the interactions of exactly this call', async () => {
  await agent.post(path, call)
  const exact = await agent.open(id, { ...approval, toolCallId: 'c' })
  const other = await agent.open(id, { ...question, toolCallId: 'd' })
  await agent.post(`${path}/c/result`, { output: '' })
  const { desk } = gateway.host
  expect(await desk.interaction(id, exact.interactionId)).toMatchObject({ settlement: 'cancelled' })
  expect(await desk.interaction(id, other.interactionId)).toMatchObject({ status: 'pending' })
})

it.each([
  { ...call, toolName: '' },
  { toolName: 'Bash' },
  { ...call, toolCallId: '' },
  { ...call, toolCallId: 'x'.repeat(501) },
])('refuses %o', async (body) => expect((await agent.post(path, body)).status).toBe(400))
