import type { Session } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { interactionOf, picks, sharedGateway } from './asking.js'
import { connectNewest as connect } from './mcp-2026-clients.js'
import { nextPending, respond } from './mcp-clients.js'

const shared = sharedGateway()
const asks = { questions: [{ question: 'Which?', options: [{ label: 'a' }, { label: 'b' }] }] }

describe.each(['stdio', 'http'] as const)('a client of the specification of 2026-07-28 by %s', (how) => {
  it('finds the tools, asks, and gets the answer', async () => {
    const client = await connect(how, shared())
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('ask_user')
    const asked = client.callTool({ name: 'ask_user', arguments: asks })
    await respond(shared(), await nextPending(shared()), picks('b'))
    expect(await asked).toMatchObject({ content: [{ text: '"Which?" = "b"' }] })
  })
})

async function giveUp(how: 'stdio' | 'http'): Promise<string> {
  const client = await connect(how, shared())
  const givesUp = new AbortController()
  const asked = client.callTool({ name: 'ask_user', arguments: asks }, { signal: givesUp.signal })
  asked.catch(() => undefined)
  const { interactionId } = await nextPending(shared())
  givesUp.abort()
  await expect(asked).rejects.toBeInstanceOf(Error)
  return interactionId
}

it('by stdio, giving up the call cancels the request', async () => {
  const interactionId = await giveUp('stdio')
  await expect
    .poll(() => interactionOf(shared(), interactionId))
    .toMatchObject({ status: 'settled', settlement: 'cancelled' })
})

it('by http, giving up the call looks like a lost connection, so the request stays pending', async () => {
  const interactionId = await giveUp('http')
  const item = await interactionOf(shared(), interactionId)
  expect(item).toMatchObject({ status: 'pending' })
  await respond(shared(), item, picks('a'))
})

it('asks in a session that has the name of the client, though it has no session of MCP', async () => {
  const client = await connect('http', shared())
  const asked = client.callTool({ name: 'ask_user', arguments: asks })
  const item = await nextPending(shared())
  const { body } = await shared().call<{ session: Session }>('GET', `/api/sessions/${item.sessionId}`)
  expect(body.session.title).toBe('newest')
  await respond(shared(), item, picks('a'))
  await asked
})
