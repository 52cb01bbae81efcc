import { memoryStore } from '@askback/core'
import { describe, expect, it } from 'vitest'
import { getJson, openSse } from './sse-client.test.helper.js'
import { asked, say, sessionWith, streamServer } from './stream-server.test.helper.js'

describe('the events of all sessions', () => {
  it.each([
    ['alone', memoryStore()],
    ['with others', { ...memoryStore(), shared: true }],
  ])(
    'tell what waits and who works, from now on, on a store that this process has %s',
    async (_name, store) => {
      const server = await streamServer({ store })
      const one = await sessionWith(server, 1)
      await asked(server, one)
      const client = await openSse(server.port, '/api/events')
      const two = await sessionWith(server, 1)
      await asked(server, two)
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

  it('are for people', async () => {
    const server = await streamServer()
    const headers = { 'x-caller': 'agent of s', accept: '*/*' }
    expect(await getJson(server.port, '/api/events', headers)).toMatchObject({
      status: 403,
      body: { error: { code: 'forbidden' } },
    })
  })
})
