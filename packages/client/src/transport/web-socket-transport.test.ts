import { afterEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../eventually.test.helper.js'
import { readStream } from '../testing/conformance-subject.js'
import { fakeClock } from '../testing/fake-clock.js'
import { EventLog, started, wrote } from '../testing/session-events.js'
import { fakeGateway, json, networkDown, quiet, refusal, silence } from './fake-gateway.test.helper.js'
import { fakeWebSockets } from './fake-web-socket.test.helper.js'
import { WebSocketTransport, type WebSocketTransportOptions } from './web-socket-transport.js'

const log = new EventLog('s1')
log.append(started(), wrote('b1'), wrote('b2'))
const frames = log.events.map((event) => ({ op: 'event', sessionId: 's1', event }))

function setup(options: WebSocketTransportOptions = {}, ...answers: Parameters<typeof fakeGateway>) {
  const clock = fakeClock()
  const { fetch, received } = fakeGateway(
    ...(answers.length > 0 ? answers : [json({ sessions: [], next: null })]),
  )
  const { sockets, WebSocket } = fakeWebSockets()
  const transport = new WebSocketTransport({
    baseUrl: 'https://gateway/under/',
    fetch,
    WebSocket,
    clock,
    random: () => 0,
    newKey: () => 'key',
    ...options,
  })
  return { clock, received, sockets, transport }
}

async function connected(options: WebSocketTransportOptions = {}) {
  const made = setup(options)
  const reader = readStream(made.transport, 's1', { seq: 1, logId: 'log' })
  await quiet()
  const socket = made.sockets[0]!
  socket.open()
  return { ...made, reader, socket }
}

afterEach(() => vi.unstubAllGlobals())

describe('the socket', () => {
  it('is opened for the first who reads, with the token in a header and never in the address', async () => {
    const { sockets, transport } = setup({ token: 'secret', surface: 'terminal' })
    expect(sockets).toHaveLength(0)
    readStream(transport, 's1')
    readStream(transport, 's2')
    await quiet()
    expect(sockets).toHaveLength(1)
    expect(sockets[0]).toMatchObject({
      url: 'wss://gateway/under/api/ws',
      headers: { authorization: 'Bearer secret', 'askback-surface': 'terminal' },
    })
  })

  it('has no headers where the cookie speaks', async () => {
    const { socket } = await connected()
    expect(socket.headers).toBeUndefined()
  })

  it('by browser login begins with the proof', async () => {
    const { socket } = await connected({ proof: () => 'kept' })
    expect(socket.sent).toMatchObject([
      { op: 'hello', proof: 'kept', ref: '1' },
      { op: 'subscribe', ref: '2' },
    ])
  })

  it('whose proof is refused says so to everyone who reads', async () => {
    const { socket, reader, sockets, clock } = await connected({ proof: () => 'old' })
    socket.receive({ ref: '1', ok: false, error: { code: 'unauthorized', message: 'Log in again.' } })
    socket.lose()
    await expect(reader.over).rejects.toMatchObject({ code: 'unauthorized' })
    clock.advance(60_000)
    await quiet()
    expect(sockets).toHaveLength(1)
  })

  it('that is closed before it has said a word is asked about over HTTP', async () => {
    const { socket, reader } = await connected({ fetch: fakeGateway(refusal(401, 'unauthorized')).fetch })
    socket.lose()
    await expect(reader.over).rejects.toMatchObject({ code: 'unauthorized' })
  })

  it('is told what each session lacks', async () => {
    const { socket, reader } = await connected()
    expect(socket.sent).toEqual([{ op: 'subscribe', ref: '1', sessionId: 's1', after: 1, log: 'log' }])
    expect(reader.statuses).toEqual([])
    socket.agree()
    socket.receive(...frames, ...frames)
    await eventually(() => expect(reader.events).toEqual(log.events.slice(1)))
    expect(reader.items[0]).toEqual({ type: 'connection', status: 'live' })
  })

  it('is asked anew after it was lost, from where each reader is', async () => {
    const { sockets, socket, reader, transport, clock } = await connected()
    socket.agree()
    socket.receive(frames[1])
    socket.lose()
    await eventually(() => expect(reader.statuses).toEqual(['live', 'offline']))
    clock.advance(124)
    await quiet()
    expect(sockets).toHaveLength(1)
    clock.advance(1)
    await quiet()
    sockets[1]!.open()
    expect(sockets[1]!.sent[0]).toMatchObject({ op: 'subscribe', after: 2 })
    transport.close()
    await reader.over
    expect(sockets[1]!.isClosed).toBe(true)
    expect(clock.armed).toBe(0)
  })

  it('breaks the silence, and is given up where nothing comes back', async () => {
    const { socket, sockets, clock, transport } = await connected()
    clock.advance(15_000)
    expect(socket.sent.at(-1)).toMatchObject({ op: 'ping' })
    socket.receive({
      ref: socket.sent.at(-1)?.['ref'],
      ok: false,
      error: { code: 'invalid_request', message: '?' },
    })
    clock.advance(44_000)
    expect(socket.isClosed).toBe(false)
    clock.advance(2000)
    expect(socket.isClosed).toBe(true)
    await eventually(() => {
      transport.wake()
      expect(sockets).toHaveLength(2)
    })
    socket.receive(frames[1])
  })

  it('that is in doubt is given up where the gateway cannot be reached', async () => {
    const { sockets, transport, clock } = setup({}, networkDown)
    const reader = readStream(transport, 's1', { seq: 1, logId: 'log' })
    await quiet()
    sockets[0]!.open()
    sockets[0]!.agree()
    await eventually(() => expect(reader.statuses).toEqual(['live']))
    transport.doubt()
    await eventually(() => expect(reader.statuses).toEqual(['live', 'offline']))
    clock.advance(125)
    await eventually(() => expect(sockets).toHaveLength(2))
    transport.close()
  })

  it('closes a while after the last reader has left', async () => {
    const { socket, reader, clock, transport } = await connected()
    reader.stop()
    await reader.over
    expect(socket.sent.at(-1)).toMatchObject({ op: 'unsubscribe', sessionId: 's1' })
    clock.advance(9000)
    const again = readStream(transport, 's2')
    await quiet()
    clock.advance(2000)
    expect(socket.isClosed).toBe(false)
    again.stop()
    await again.over
    clock.advance(10_000)
    expect(socket.isClosed).toBe(true)
  })

  it.each(['no json', '[1', 5, '7', 'null'])('is dropped when it brings %j', async (data) => {
    const { socket } = await connected()
    socket.receiveText(data)
    expect(socket.isClosed).toBe(true)
  })

  it('passes over frames of a kind that it does not know', async () => {
    const { socket } = await connected()
    socket.receive({ op: 'sparkle' }, { op: 'sparkle', sessionId: 's1' }, { ref: 'never asked', ok: true })
    expect(socket.isClosed).toBe(false)
  })
})

describe('readers', () => {
  it('of one session share what the gateway sends, each from its own place', async () => {
    const { socket, reader, transport } = await connected()
    const second = readStream(transport, 's1')
    await quiet()
    expect(socket.sent.at(-1)).toMatchObject({ op: 'subscribe', sessionId: 's1', after: 0 })
    socket.receive(...frames)
    await eventually(() => expect(second.events).toEqual(log.events))
    expect(reader.events).toEqual(log.events.slice(1))
    second.stop()
    await second.over
    expect(socket.sent.filter(({ op }) => op === 'unsubscribe')).toEqual([])
  })

  it('are told when the session is not theirs to read, the others read on', async () => {
    const { socket, reader, transport } = await connected()
    const other = readStream(transport, 's2')
    await quiet()
    socket.receive({
      ref: socket.sent.at(-1)?.['ref'],
      ok: false,
      error: { code: 'forbidden', message: 'No.' },
    })
    await expect(other.over).rejects.toMatchObject({ code: 'forbidden', message: 'No.' })
    socket.receive(frames[1])
    await eventually(() => expect(reader.events).toHaveLength(1))
  })

  it('are told why where the gateway does not let the socket in', async () => {
    const { sockets, transport } = setup({}, refusal(401, 'unauthorized'))
    const reader = readStream(transport, 's1')
    await quiet()
    sockets[0]!.lose()
    await expect(reader.over).rejects.toMatchObject({ code: 'unauthorized' })
    const again = readStream(transport, 's1')
    await quiet()
    expect(sockets).toHaveLength(2)
    again.stop()
  })
})

describe('an answer', () => {
  const input = { sessionId: 's1', interactionId: 'i1', answer: { a: 1 }, digest: 'd' }

  it('goes over the socket, which is opened for it', async () => {
    const { sockets, transport, clock } = setup()
    const responding = transport.respond(input)
    await quiet()
    sockets[0]!.open()
    await quiet()
    expect(sockets[0]!.sent).toEqual([{ op: 'respond', ref: '1', idempotencyKey: 'key', ...input }])
    sockets[0]!.agree({ interaction: { interactionId: 'i1' }, events: [] })
    expect(await responding).toMatchObject({ interaction: { interactionId: 'i1' }, events: [] })
    clock.advance(10_000)
    expect(sockets[0]!.isClosed).toBe(true)
  })

  it('that is refused is not sent another way', async () => {
    const { socket, transport, received } = await connected()
    const responding = transport.respond(input)
    await quiet()
    const error = { code: 'digest_mismatch', message: 'Look again.', details: { digest: 'e' } }
    socket.receive({ ref: socket.sent.at(-1)?.['ref'], ok: false, error })
    await expect(responding).rejects.toMatchObject(error)
    expect(received).toEqual([])
  })

  it.each([
    ['is lost', (made: Awaited<ReturnType<typeof connected>>) => made.socket.lose()],
    ['does not answer in time', (made: Awaited<ReturnType<typeof connected>>) => made.clock.advance(30_000)],
  ])('goes over HTTP, under the same key, where the socket %s', async (_name, fail) => {
    const made = await connected()
    made.socket.agree()
    const responding = made.transport.respond(input)
    await quiet()
    fail(made)
    await responding
    expect(made.received).toMatchObject([{ method: 'POST', body: { answer: { a: 1 }, digest: 'd' } }])
    expect(made.received[0]?.headers.get('idempotency-key')).toBe('key')
  })
})

describe('changes', () => {
  async function watched(...answers: Parameters<typeof fakeGateway>) {
    const made = setup({}, ...answers)
    const items: unknown[] = []
    void (async () => {
      for await (const item of made.transport.changes()) items.push(item)
    })()
    await quiet()
    made.sockets[0]!.open()
    await quiet()
    return { ...made, socket: made.sockets[0]!, items }
  }

  it('of all sessions come over the one socket, whatever their places', async () => {
    const { socket, items } = await watched()
    expect(socket.sent).toMatchObject([{ op: 'subscribe', sessionId: '*' }])
    socket.agree()
    const [first] = log.events
    const other = { ...first!, sessionId: 's2' }
    for (const event of [log.events[1], other]) socket.receive({ op: 'event', sessionId: '*', event })
    await quiet()
    expect(items).toMatchObject([
      { type: 'connection', status: 'live' },
      { type: 'event', event: { sessionId: 's1', seq: 2 } },
      { type: 'event', event: { sessionId: 's2', seq: 1 } },
    ])
  })

  it('come over HTTP from a gateway that does not know of that', async () => {
    const { socket, received } = await watched(silence)
    socket.receive({
      ref: socket.sent[0]!['ref'],
      ok: false,
      error: { code: 'not_found', message: 'There is no session *.' },
    })
    await quiet()
    expect(received.some(({ url }) => url.endsWith('/api/events'))).toBe(true)
  })
})

describe('where there is no socket to be had', () => {
  it('says what is missing', () => {
    vi.stubGlobal('WebSocket', undefined)
    expect(() => new WebSocketTransport({ baseUrl: 'http://gateway' })).toThrow(/ws package/)
  })

  it('says that a page cannot send a token', () => {
    vi.stubGlobal('WebSocket', fakeWebSockets().WebSocket)
    vi.stubGlobal('document', {})
    vi.stubGlobal('location', { href: 'http://gateway/app' })
    expect(() => new WebSocketTransport({ token: 'secret' })).toThrow(/cookie/)
    expect(new WebSocketTransport()).toBeInstanceOf(WebSocketTransport)
  })

  it('an address that no socket takes is tried again later', async () => {
    class Refusing {
      constructor() {
        throw new SyntaxError('no such address')
      }
      send() {}
      close() {}
      addEventListener() {}
    }
    const { transport } = setup({ WebSocket: Refusing })
    const reader = readStream(transport, 's1')
    await eventually(() => expect(reader.statuses).toEqual(['offline']))
    transport.close()
    await reader.over
  })
})
