import { fakeClock } from '@askback/protocol/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { eventually } from '../eventually.test.helper.js'
import { readStream } from '../testing/conformance-subject.js'
import { EventLog, started, wrote } from '../testing/session-events.js'
import { fakeGateway, json, networkDown, refusal, settle, silence } from './fake-gateway.test.helper.js'
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

async function connect(options: WebSocketTransportOptions = {}) {
  const setUp = setup(options)
  const reader = readStream(setUp.transport, 's1', { seq: 1, logId: 'log' })
  await settle()
  const socket = setUp.sockets[0]!
  socket.open()
  return { ...setUp, reader, socket }
}

afterEach(() => vi.unstubAllGlobals())

describe('the socket', () => {
  it('opens for the first reader, with the token in a header and never in the address', async () => {
    const { sockets, transport } = setup({ token: 'secret', surface: 'terminal' })
    expect(sockets).toHaveLength(0)
    readStream(transport, 's1')
    readStream(transport, 's2')
    await settle()
    expect(sockets).toHaveLength(1)
    expect(sockets[0]).toMatchObject({
      url: 'wss://gateway/under/api/ws',
      headers: { authorization: 'Bearer secret', 'askback-surface': 'terminal' },
    })
  })

  it('has no headers if the cookie is used', async () => {
    const { socket } = await connect()
    expect(socket.headers).toBeUndefined()
  })

  it('of a browser login begins with the proof', async () => {
    const { socket } = await connect({ proof: () => 'proof-1' })
    expect(socket.sent).toMatchObject([
      { op: 'hello', proof: 'proof-1', ref: '1' },
      { op: 'subscribe', ref: '2' },
    ])
  })

  it('fails all readers if its proof is refused', async () => {
    const { socket, reader, sockets, clock } = await connect({ proof: () => 'old' })
    socket.receive({ ref: '1', ok: false, error: { code: 'unauthorized', message: 'Log in again.' } })
    socket.lose()
    await expect(reader.over).rejects.toMatchObject({ code: 'unauthorized' })
    clock.advance(60_000)
    await settle()
    expect(sockets).toHaveLength(1)
  })

  it('that closes without a message makes the transport ask over HTTP for the reason', async () => {
    const { socket, reader } = await connect({ fetch: fakeGateway(refusal(401, 'unauthorized')).fetch })
    socket.lose()
    await expect(reader.over).rejects.toMatchObject({ code: 'unauthorized' })
  })

  it('subscribes with the position of each session', async () => {
    const { socket, reader } = await connect()
    expect(socket.sent).toEqual([{ op: 'subscribe', ref: '1', sessionId: 's1', after: 1, log: 'log' }])
    expect(reader.statuses).toEqual([])
    socket.accept()
    socket.receive(...frames, ...frames)
    await eventually(() => expect(reader.events).toEqual(log.events.slice(1)))
    expect(reader.items[0]).toEqual({ type: 'connection', status: 'live' })
  })

  it('subscribes again after it was lost, from the position of each reader', async () => {
    const { sockets, socket, reader, transport, clock } = await connect()
    socket.accept()
    socket.receive(frames[1])
    socket.lose()
    await eventually(() => expect(reader.statuses).toEqual(['live', 'offline']))
    clock.advance(124)
    await settle()
    expect(sockets).toHaveLength(1)
    clock.advance(1)
    await settle()
    sockets[1]!.open()
    expect(sockets[1]!.sent[0]).toMatchObject({ op: 'subscribe', after: 2 })
    transport.close()
    await reader.over
    expect(sockets[1]!.isClosed).toBe(true)
    expect(clock.armed).toBe(0)
  })

  it('sends pings, and is given up if nothing is received', async () => {
    const { socket, sockets, clock, transport } = await connect()
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
      transport.retryNow()
      expect(sockets).toHaveLength(2)
    })
    socket.receive(frames[1])
  })

  it('is reconnected by verifyConnection if the gateway cannot be reached', async () => {
    const { sockets, transport, clock } = setup({}, networkDown)
    const reader = readStream(transport, 's1', { seq: 1, logId: 'log' })
    await settle()
    sockets[0]!.open()
    sockets[0]!.accept()
    await eventually(() => expect(reader.statuses).toEqual(['live']))
    transport.verifyConnection()
    await eventually(() => expect(reader.statuses).toEqual(['live', 'offline']))
    clock.advance(125)
    await eventually(() => expect(sockets).toHaveLength(2))
    transport.close()
  })

  it('closes ten seconds after the last reader has left', async () => {
    const { socket, reader, clock, transport } = await connect()
    reader.stop()
    await reader.over
    expect(socket.sent.at(-1)).toMatchObject({ op: 'unsubscribe', sessionId: 's1' })
    clock.advance(9000)
    const again = readStream(transport, 's2')
    await settle()
    clock.advance(2000)
    expect(socket.isClosed).toBe(false)
    again.stop()
    await again.over
    clock.advance(10_000)
    expect(socket.isClosed).toBe(true)
  })

  it.each(['no json', '[1', 5, '7', 'null'])('is dropped when it receives %j', async (data) => {
    const { socket } = await connect()
    socket.receiveText(data)
    expect(socket.isClosed).toBe(true)
  })

  it('ignores frames of an unknown type', async () => {
    const { socket } = await connect()
    socket.receive({ op: 'sparkle' }, { op: 'sparkle', sessionId: 's1' }, { ref: 'never asked', ok: true })
    expect(socket.isClosed).toBe(false)
  })
})

describe('readers', () => {
  it('of one session share a subscription, each from its own position', async () => {
    const { socket, reader, transport } = await connect()
    const second = readStream(transport, 's1')
    await settle()
    expect(socket.sent.at(-1)).toMatchObject({ op: 'subscribe', sessionId: 's1', after: 0 })
    socket.receive(...frames)
    await eventually(() => expect(second.events).toEqual(log.events))
    expect(reader.events).toEqual(log.events.slice(1))
    second.stop()
    await second.over
    expect(socket.sent.filter(({ op }) => op === 'unsubscribe')).toEqual([])
  })

  it('fail alone if their session is refused', async () => {
    const { socket, reader, transport } = await connect()
    const other = readStream(transport, 's2')
    await settle()
    socket.receive({
      ref: socket.sent.at(-1)?.['ref'],
      ok: false,
      error: { code: 'forbidden', message: 'No.' },
    })
    await expect(other.over).rejects.toMatchObject({ code: 'forbidden', message: 'No.' })
    socket.receive(frames[1])
    await eventually(() => expect(reader.events).toHaveLength(1))
  })

  it('get the reason if the gateway refuses the socket', async () => {
    const { sockets, transport } = setup({}, refusal(401, 'unauthorized'))
    const reader = readStream(transport, 's1')
    await settle()
    sockets[0]!.lose()
    await expect(reader.over).rejects.toMatchObject({ code: 'unauthorized' })
    const again = readStream(transport, 's1')
    await settle()
    expect(sockets).toHaveLength(2)
    again.stop()
  })
})

describe('an answer', () => {
  const input = { sessionId: 's1', interactionId: 'i1', answer: { a: 1 }, digest: 'd' }

  it('is sent over the socket, which opens for it', async () => {
    const { sockets, transport, clock } = setup()
    const responding = transport.respond(input)
    await settle()
    sockets[0]!.open()
    await settle()
    expect(sockets[0]!.sent).toEqual([{ op: 'respond', ref: '1', idempotencyKey: 'key', ...input }])
    sockets[0]!.accept({ interaction: { interactionId: 'i1' }, events: [] })
    expect(await responding).toMatchObject({ interaction: { interactionId: 'i1' }, events: [] })
    clock.advance(10_000)
    expect(sockets[0]!.isClosed).toBe(true)
  })

  it('that is refused is not sent again over HTTP', async () => {
    const { socket, transport, received } = await connect()
    const responding = transport.respond(input)
    await settle()
    const error = { code: 'digest_mismatch', message: 'Look again.', details: { digest: 'e' } }
    socket.receive({ ref: socket.sent.at(-1)?.['ref'], ok: false, error })
    await expect(responding).rejects.toMatchObject(error)
    expect(received).toEqual([])
  })

  it.each([
    ['is lost', (setUp: Awaited<ReturnType<typeof connect>>) => setUp.socket.lose()],
    ['does not answer in time', (setUp: Awaited<ReturnType<typeof connect>>) => setUp.clock.advance(30_000)],
  ])('is sent over HTTP under the same key if the socket %s', async (_name, fail) => {
    const setUp = await connect()
    setUp.socket.accept()
    const responding = setUp.transport.respond(input)
    await settle()
    fail(setUp)
    await responding
    expect(setUp.received).toMatchObject([{ method: 'POST', body: { answer: { a: 1 }, digest: 'd' } }])
    expect(setUp.received[0]?.headers.get('idempotency-key')).toBe('key')
  })
})

describe('changes', () => {
  async function watchChanges(...answers: Parameters<typeof fakeGateway>) {
    const setUp = setup({}, ...answers)
    const items: unknown[] = []
    void (async () => {
      for await (const item of setUp.transport.changes()) items.push(item)
    })()
    await settle()
    setUp.sockets[0]!.open()
    await settle()
    return { ...setUp, socket: setUp.sockets[0]!, items }
  }

  it('of all sessions are received over the one socket, whatever their positions', async () => {
    const { socket, items } = await watchChanges()
    expect(socket.sent).toMatchObject([{ op: 'subscribe', sessionId: '*' }])
    socket.accept()
    const [first] = log.events
    const other = { ...first!, sessionId: 's2' }
    for (const event of [log.events[1], other]) socket.receive({ op: 'event', sessionId: '*', event })
    await settle()
    expect(items).toMatchObject([
      { type: 'connection', status: 'live' },
      { type: 'event', event: { sessionId: 's1', seq: 2 } },
      { type: 'event', event: { sessionId: 's2', seq: 1 } },
    ])
  })

  it('are received over HTTP from an older gateway', async () => {
    const { socket, received } = await watchChanges(silence)
    socket.receive({
      ref: socket.sent[0]!['ref'],
      ok: false,
      error: { code: 'not_found', message: 'There is no session *.' },
    })
    await settle()
    expect(received.some(({ url }) => url.endsWith('/api/events'))).toBe(true)
  })
})

describe('without a usable WebSocket', () => {
  it('the constructor says what is missing', () => {
    vi.stubGlobal('WebSocket', undefined)
    expect(() => new WebSocketTransport({ baseUrl: 'http://gateway' })).toThrow(/ws package/)
  })

  it('the constructor says that a page cannot send a token', () => {
    vi.stubGlobal('WebSocket', fakeWebSockets().WebSocket)
    vi.stubGlobal('document', {})
    vi.stubGlobal('location', { href: 'http://gateway/app' })
    expect(() => new WebSocketTransport({ token: 'secret' })).toThrow(/cookie/)
    expect(new WebSocketTransport()).toBeInstanceOf(WebSocketTransport)
  })

  it('a socket that cannot be created is retried later', async () => {
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
