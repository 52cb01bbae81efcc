import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { openQuestion, say, sessionWith, streamServer } from './stream-server.test.helper.js'
import { wsClient } from './ws-client.test.helper.js'

const yes = { answers: [{ selected: ['Yes'] }] }

describe('one WebSocket', () => {
  it('carries many sessions, each in its own order', async () => {
    const server = await streamServer()
    const [one, two] = [await sessionWith(server, 1), await sessionWith(server, 1)]
    const client = await wsClient(server.port)
    expect(await client.ask({ op: 'subscribe', sessionId: one, after: 0 })).toMatchObject({ ok: true })
    expect(await client.ask({ op: 'subscribe', sessionId: two, after: 1 })).toMatchObject({ ok: true })
    await Promise.all([say(server.host, one, 2), say(server.host, two, 2)])
    const frames = await client.take(7)
    const seqs = (id: string) =>
      frames.filter((frame) => frame.sessionId === id).map((frame) => (frame['event'] as { seq: number }).seq)
    expect(seqs(one)).toEqual([1, 2, 3, 4])
    expect(seqs(two)).toEqual([2, 3, 4])
    const [first] = await server.store.read({ sessionId: one, limit: 1 })
    expect(frames.find((frame) => frame.sessionId === one)).toEqual({
      op: 'event',
      sessionId: one,
      event: first,
    })
  })

  it('replies to a subscription before its first event', async () => {
    const server = await streamServer()
    const client = await wsClient(server.port)
    await client.ask({ op: 'subscribe', sessionId: await sessionWith(server, 3), after: 0 })
    await client.take(4)
    expect(client.frames.map((frame) => frame.op ?? frame.ok)).toEqual([
      true,
      'event',
      'event',
      'event',
      'event',
    ])
  })

  it('delivers nothing of a session after unsubscribing, and each event once after subscribing twice', async () => {
    const server = await streamServer()
    const [one, two] = [await sessionWith(server, 0), await sessionWith(server, 0)]
    const client = await wsClient(server.port)
    for (const sessionId of [one, two, two]) await client.ask({ op: 'subscribe', sessionId, after: 1 })
    expect(await client.ask({ op: 'unsubscribe', sessionId: one })).toMatchObject({ ok: true })
    await say(server.host, one, 1)
    await say(server.host, two, 2)
    expect((await client.take(2)).map((frame) => frame.sessionId)).toEqual([two, two])
    expect(await client.ask({ op: 'unsubscribe', sessionId: 'unknown' })).toMatchObject({ ok: true })
    expect(client.frames.filter((frame) => frame.op === 'event')).toHaveLength(2)
  })

  it('ends a subscription that is cancelled before it began', async () => {
    const server = await streamServer()
    const id = await sessionWith(server, 1)
    const client = await wsClient(server.port)
    // Both arrive at once.
    const { _socket: socket } = client.ws as unknown as { _socket: Socket }
    socket.cork()
    const asked = [
      client.ask({ op: 'subscribe', sessionId: id, after: 0 }),
      client.ask({ op: 'unsubscribe', sessionId: id }),
    ]
    socket.uncork()
    const answers = await Promise.all(asked)
    expect(answers).toMatchObject([{ ok: true }, { ok: true }])
    await say(server.host, id, 1)
    await client.ask({ op: 'unsubscribe', sessionId: id })
    expect(client.frames.filter((frame) => frame.op === 'event')).toEqual([])
  })

  it.each([
    ['past the end', { after: 3 }],
    ['in another log', { after: 1, log: 'another' }],
  ])('requests a new snapshot if the cursor is %s', async (_name, place) => {
    const server = await streamServer()
    const id = await sessionWith(server, 1)
    const client = await wsClient(server.port)
    expect(await client.ask({ op: 'subscribe', sessionId: id, ...place })).toMatchObject({ ok: true })
    expect(await client.next()).toEqual({ op: 'resync', sessionId: id })
    await say(server.host, id, 1)
    await client.ask({ op: 'subscribe', sessionId: id, after: 2 })
    expect(await client.next()).toMatchObject({ op: 'event', event: { seq: 3 } })
  })

  it('delivers the end of a session, and continues with the others', async () => {
    const server = await streamServer()
    const [one, two] = [await sessionWith(server, 0), await sessionWith(server, 0)]
    const client = await wsClient(server.port)
    for (const sessionId of [one, two]) await client.ask({ op: 'subscribe', sessionId, after: 1 })
    await server.host.desk.deleteSession(one)
    await say(server.host, two, 1)
    expect(await client.take(3)).toMatchObject([
      { op: 'event', sessionId: one, event: { type: 'session_status', status: 'ended' } },
      { op: 'resync', sessionId: one },
      { op: 'event', sessionId: two },
    ])
    expect(await client.ask({ op: 'subscribe', sessionId: one, after: 0 })).toMatchObject({
      ok: false,
      error: { code: 'not_found' },
    })
  })

  it('accepts answers of the person who opened it', async () => {
    const server = await streamServer()
    const id = await sessionWith(server, 0)
    const interactionId = await openQuestion(server, id)
    const client = await wsClient(server.port)
    const op = { op: 'respond', sessionId: id, interactionId, answer: yes }
    expect(await client.ask({ ...op, digest: 'another' })).toMatchObject({
      error: { code: 'digest_mismatch' },
    })
    const answered = await client.ask(op)
    expect(answered).toMatchObject({
      ok: true,
      interaction: { interactionId, settlement: 'answered', answer: yes, by: { id: 'me' }, via: 'http' },
    })
    expect((answered['events'] as { type: string }[]).map((event) => event.type)).toEqual([
      'interaction_response',
      'interaction_pending',
      'session_status',
    ])
    expect(await client.ask(op)).toMatchObject({
      ok: false,
      error: { code: 'already_settled', details: { interaction: { settlement: 'answered' } } },
    })
    expect(await client.ask({ ...op, interactionId: 'none' })).toMatchObject({ error: { code: 'not_found' } })
  })

  it('deduplicates an answer that is repeated with its key, and replies to a ping', async () => {
    const server = await streamServer()
    const id = await sessionWith(server, 0)
    const interactionId = await openQuestion(server, id)
    const client = await wsClient(server.port)
    const op = { op: 'respond', sessionId: id, interactionId, answer: yes, idempotencyKey: 'once' }
    const [first, again] = [await client.ask(op), await client.ask(op)]
    expect([first, again]).toMatchObject([{ ok: true }, { ok: true }])
    expect(again['events']).toEqual(first['events'])
    expect(await client.ask({ op: 'ping' })).toMatchObject({ ok: true })
  })

  it('lets an agent read its own session and settle nothing', async () => {
    const server = await streamServer()
    const [own, other] = [await sessionWith(server, 0), await sessionWith(server, 0)]
    const interactionId = await openQuestion(server, own)
    const client = await wsClient(server.port, { 'x-caller': `agent of ${own}` })
    expect(await client.ask({ op: 'subscribe', sessionId: own, after: 0 })).toMatchObject({ ok: true })
    const forbidden = { ok: false, error: { code: 'forbidden' } }
    expect(await client.ask({ op: 'subscribe', sessionId: other, after: 0 })).toMatchObject(forbidden)
    const answer = { op: 'respond', sessionId: own, interactionId, answer: yes }
    expect(await client.ask(answer)).toMatchObject(forbidden)
    expect(await server.host.desk.interaction(own, interactionId)).toMatchObject({ status: 'pending' })
  })
})
