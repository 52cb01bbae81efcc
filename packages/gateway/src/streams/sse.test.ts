import type { SessionEvent } from '@askback/protocol'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { getJson, openSse, type SseMessage } from './sse-client.test.helper.js'
import { openQuestion, say, sessionWith, streamServer } from './stream-server.test.helper.js'

describe('the events of a session over SSE', () => {
  it('come from the beginning, and then as they happen, each with its seq, type and JSON', async () => {
    const server = await streamServer()
    const id = await sessionWith(server, 2)
    const client = await openSse(server.port, `/api/sessions/${id}/events`)
    expect(client.response.statusCode).toBe(200)
    expect(client.response.headers['content-type']).toBe('text/event-stream; charset=utf-8')
    const log = await server.store.read({ sessionId: id, limit: 10 })
    expect(await client.take(3)).toEqual(log.map(asMessage))
    await say(server.host, id, 1)
    const [newest] = await server.store.read({ sessionId: id, after: 3, limit: 1 })
    expect(await client.next()).toEqual(asMessage(newest!))
  })

  it.each([
    ['Last-Event-ID', '?', { 'last-event-id': '3' }],
    ['?after=', '?after=3', {}],
    ['Last-Event-ID before ?after=', '?after=1', { 'last-event-id': '3' }],
  ])('resume after %s', async (_name, query, headers) => {
    const server = await streamServer()
    const id = await sessionWith(server, 4)
    const client = await openSse(server.port, `/api/sessions/${id}/events${query}`, headers)
    expect((await client.take(2)).map((message) => message.id)).toEqual(['4', '5'])
  })

  it('resume at the very end without sending anything again', async () => {
    const server = await streamServer()
    const id = await sessionWith(server, 4)
    const client = await openSse(server.port, `/api/sessions/${id}/events?after=5`)
    await say(server.host, id, 1)
    expect(await client.next()).toMatchObject({ id: '6' })
  })

  it.each([
    ['past the end', (_log: string) => '?after=6'],
    ['too large for any log', () => `?after=${'9'.repeat(400)}`],
    ['in another log', () => '?after=2&log=another'],
  ])('request a new snapshot if the cursor is %s', async (_name, query) => {
    const server = await streamServer()
    const id = await sessionWith(server, 4)
    const client = await openSse(server.port, `/api/sessions/${id}/events${query('')}`)
    await client.ended
    expect(client.messages).toEqual([{ event: 'resync', data: {} }])
  })

  it('continue if the request names this log', async () => {
    const server = await streamServer()
    const id = await sessionWith(server, 1)
    const { logId } = await server.host.desk.snapshot(id)
    const client = await openSse(server.port, `/api/sessions/${id}/events?after=1&log=${logId}`)
    expect(await client.next()).toMatchObject({ id: '2' })
  })

  it.each(['-1', '1.5', '+1', '1e3', 'abc', '', ' ', '0x10'])('refuse the cursor %j', async (cursor) => {
    const server = await streamServer()
    const id = await sessionWith(server, 1)
    const events = `/api/sessions/${id}/events?after=${encodeURIComponent(cursor)}`
    const answer = await getJson(server.port, events, { accept: 'text/event-stream' })
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } })
  })

  it('are not found if there is no session', async () => {
    const server = await streamServer()
    const answer = await getJson(server.port, '/api/sessions/none/events', { accept: '*/*' })
    expect(answer).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } })
  })

  it('are for callers who may read the session', async () => {
    const server = await streamServer()
    const [own, other] = [await sessionWith(server, 1), await sessionWith(server, 1)]
    const headers = { 'x-caller': `agent of ${own}`, accept: 'text/event-stream' }
    expect(await getJson(server.port, `/api/sessions/${other}/events`, headers)).toMatchObject({
      status: 403,
    })
    const client = await openSse(server.port, `/api/sessions/${own}/events`, headers)
    expect(await client.next()).toMatchObject({ id: '1' })
  })

  it('come complete and in order from a log of many pages that grows meanwhile', async () => {
    const server = await streamServer()
    const id = await sessionWith(server, 1000)
    const client = await openSse(server.port, `/api/sessions/${id}/events?after=7`)
    await Promise.all([say(server.host, id, 200), say(server.host, id, 200)])
    const ids = (await client.take(1394)).map((message) => Number(message.id))
    expect(ids).toEqual(Array.from({ length: 1394 }, (_, index) => index + 8))
  })

  it('are not chunked, which HTTP/1.0 does not know', async () => {
    const server = await streamServer()
    const id = await sessionWith(server, 0)
    const socket = connect(server.port, '127.0.0.1')
    socket.write(`GET /api/sessions/${id}/events HTTP/1.0\r\nHost: localhost\r\n\r\n`)
    socket.setEncoding('utf8')
    let text = ''
    for await (const chunk of socket) {
      text += chunk
      if (text.endsWith('}\n\n')) break
    }
    const [head, body] = text.split('\r\n\r\n')
    expect(head!.toLowerCase()).not.toContain('transfer-encoding')
    expect(body).toMatch(/^id: 1\nevent: session_started\ndata: \{.*\}\n\n$/)
  })

  it('end with the session, after its last event', async () => {
    const server = await streamServer()
    const id = await sessionWith(server, 0)
    await openQuestion(server, id)
    const client = await openSse(server.port, `/api/sessions/${id}/events?after=4`)
    await server.host.desk.deleteSession(id)
    await client.ended
    expect(client.messages.at(-1)).toMatchObject({ event: 'session_status', data: { status: 'ended' } })
    expect(client.messages.map((message) => message.event)).toContain('interaction_response')
    expect(await getJson(server.port, `/api/sessions/${id}/events`, { accept: '*/*' })).toMatchObject({
      status: 404,
    })
  })
})

function asMessage(event: SessionEvent): SseMessage {
  return { id: String(event.seq), event: event.type, data: event }
}
