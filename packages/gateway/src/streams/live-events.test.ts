import type { AgentContext } from '@askback/core'
import { describe, expect, it } from 'vitest'
import { openSse } from './sse-client.test.helper.js'
import { streamServer, type StreamServer } from './stream-server.test.helper.js'
import { wsClient } from './ws-client.test.helper.js'

describe('an unfinished block', () => {
  it('is delivered in deltas without a seq, and then as one event', async () => {
    const { server, id, seq, agent } = await running()
    const client = await openSse(server.port, `/api/sessions/${id}/events?after=${seq - 1}`)
    expect(await client.next()).toMatchObject({ id: String(seq) })
    agent.live({ type: 'text_delta', blockId: 'b', text: 'Hel' })
    agent.live({ type: 'text_delta', blockId: 'b', text: 'lo' })
    await agent.report({ type: 'text', blockId: 'b', text: 'Hello' })
    expect(await client.take(3)).toEqual([
      { event: 'text_delta', data: { type: 'text_delta', blockId: 'b', offset: 0, text: 'Hel' } },
      { event: 'text_delta', data: { type: 'text_delta', blockId: 'b', offset: 3, text: 'lo' } },
      expect.objectContaining({ id: String(seq + 1), event: 'text' }),
    ])
  })

  it('is delivered up to now to a reader that connects later, after the log', async () => {
    const { server, id, seq, agent } = await running()
    agent.live({ type: 'text_delta', blockId: 'b', text: 'Hel' })
    agent.live({ type: 'tool_call_delta', toolCallId: 't', toolName: 'Bash', partialInput: '{"comm' })
    const client = await openSse(server.port, `/api/sessions/${id}/events?after=${seq - 1}`)
    expect(await client.take(3)).toMatchObject([
      { id: String(seq) },
      { event: 'text_delta', data: { offset: 0, text: 'Hel' } },
      { event: 'tool_call_delta', data: { offset: 0, partialInput: '{"comm' } },
    ])
    agent.live({ type: 'text_delta', blockId: 'b', text: 'lo' })
    expect(await client.next()).toMatchObject({ data: { offset: 3, text: 'lo' } })
  })

  it('is not delivered again when it is finished', async () => {
    const { server, id, seq, agent } = await running()
    agent.live({ type: 'text_delta', blockId: 'b', text: 'Hello' })
    await agent.report({ type: 'text', blockId: 'b', text: 'Hello' })
    const client = await openSse(server.port, `/api/sessions/${id}/events?after=${seq}`)
    expect(await client.next()).toMatchObject({ id: String(seq + 1), event: 'text' })
    agent.live({ type: 'text_delta', blockId: 'b', text: 'Hello' })
    agent.live({ type: 'text_delta', blockId: 'c', text: 'Next' })
    expect(await client.next()).toMatchObject({ data: { blockId: 'c' } })
  })

  it('reaches a WebSocket as a live frame', async () => {
    const { server, id, seq, agent } = await running()
    agent.live({ type: 'text_delta', blockId: 'b', text: 'Hel' })
    const client = await wsClient(server.port)
    await client.ask({ op: 'subscribe', sessionId: id, after: seq })
    agent.live({ type: 'text_delta', blockId: 'b', text: 'lo' })
    expect(await client.take(2)).toEqual([
      { op: 'live', sessionId: id, event: { type: 'text_delta', blockId: 'b', offset: 0, text: 'Hel' } },
      { op: 'live', sessionId: id, event: { type: 'text_delta', blockId: 'b', offset: 3, text: 'lo' } },
    ])
  })
})

/** A session whose agent is in a turn; `seq` is the last of its log. */
async function running(): Promise<{ server: StreamServer; id: string; seq: number; agent: AgentContext }> {
  const server = await streamServer()
  const { session } = await server.host.createSession({ agent: 'puppet' })
  await server.host.as({ by: { id: 'me' } }).message({ sessionId: session.id, text: 'Go' })
  await expect.poll(() => server.agents.has(session.id)).toBe(true)
  const { seq } = await server.host.desk.snapshot(session.id)
  return { server, id: session.id, seq, agent: server.agents.get(session.id)! }
}
