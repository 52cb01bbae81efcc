import { memoryStore } from '@askback/core'
import { describe, expect, it } from 'vitest'
import { getJson, openSse } from './sse-client.test.helper.js'
import { openQuestion, say, sessionWith, streamServer } from './stream-server.test.helper.js'
import { wsClient } from './ws-client.test.helper.js'

describe('the events of all sessions', () => {
  it.each([
    ['alone', memoryStore()],
    ['with others', { ...memoryStore(), shared: true }],
  ])(
    'are sent for requests and statuses from now on, on a store that this process has %s',
    async (_name, store) => {
      const server = await streamServer({ store })
      const one = await sessionWith(server, 1)
      await openQuestion(server, one)
      const client = await openSse(server.port, '/api/events')
      const two = await sessionWith(server, 1)
      await openQuestion(server, two)
      await say(server.host, two, 1)
      await server.host.desk.deleteSession(two)
      const messages = await client.take(6)
      expect(messages.map((message) => message.event)).toEqual([
        'interaction_pending',
        'interaction_request',
        'session_status',
        'interaction_response',
        'interaction_pending',
        'session_status',
      ])
      expect(messages.every((message) => message.id === undefined)).toBe(true)
      expect(messages.map((message) => (message.data as { sessionId: string }).sessionId)).toEqual(
        messages.map(() => two),
      )
    },
  )

  it.each([
    ['alone', memoryStore()],
    ['with others', { ...memoryStore(), shared: true }],
  ])('also come over a WebSocket, on a store that this process has %s', async (_name, store) => {
    const server = await streamServer({ store })
    const id = await sessionWith(server, 1)
    const client = await wsClient(server.port)
    expect(await client.ask({ op: 'subscribe', sessionId: '*', after: 0 })).toMatchObject({ ok: true })
    await say(server.host, id, 1)
    await openQuestion(server, id)
    const frames = await client.take(3)
    const events = frames.map((frame) => frame['event'] as { type: string; sessionId: string })
    expect(frames.map(({ op, sessionId }) => [op, sessionId])).toEqual(frames.map(() => ['event', '*']))
    expect(events.map(({ type }) => type)).toEqual([
      'interaction_pending',
      'interaction_request',
      'session_status',
    ])
    expect(events.map(({ sessionId }) => sessionId)).toEqual(events.map(() => id))

    expect(await client.ask({ op: 'unsubscribe', sessionId: '*' })).toMatchObject({ ok: true })
    await openQuestion(server, id)
    await client.ask({ op: 'ping' })
    expect(client.frames.filter((frame) => frame.op === 'event')).toHaveLength(3)
  })

  it('are refused to agents over a WebSocket', async () => {
    const server = await streamServer()
    const client = await wsClient(server.port, { 'x-caller': 'agent of s' })
    expect(await client.ask({ op: 'subscribe', sessionId: '*', after: 0 })).toMatchObject({
      ok: false,
      error: { code: 'forbidden' },
    })
  })

  it('are for people only', async () => {
    const server = await streamServer()
    const headers = { 'x-caller': 'agent of s', accept: '*/*' }
    expect(await getJson(server.port, '/api/events', headers)).toMatchObject({
      status: 403,
      body: { error: { code: 'forbidden' } },
    })
  })
})
