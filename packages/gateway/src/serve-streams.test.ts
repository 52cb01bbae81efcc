import { memoryStore } from '@askback/core'
import { fakeClock } from '@askback/core/testing'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { Api, approval, signIn, startTestGateway, type TestGateway } from './testing/index.js'

let gateway: TestGateway
let id: string
beforeEach(async () => {
  gateway = await startTestGateway()
  id = await new Api(gateway).session()
})
afterEach(() => gateway.close())

const stream = (path: string, token: string, headers: Record<string, string> = {}) =>
  fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } })

/** The status of the response to an upgrade: 101, or that of an error. */
async function upgrade(headers: Record<string, string>): Promise<number> {
  return (await upgradeAnswer(headers)).statusCode ?? 0
}

async function upgradeAnswer(headers: Record<string, string>): Promise<IncomingMessage> {
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/api/ws`, { headers })
  try {
    return await new Promise<IncomingMessage>((resolve, reject) => {
      socket.on('upgrade', resolve)
      socket.on('unexpected-response', (_, response) => resolve(response))
      socket.on('error', reject)
    })
  } finally {
    socket.terminate()
  }
}

describe('streams', () => {
  it('are for callers who may read the session', async () => {
    const path = `/api/sessions/${id}/events`
    const statuses = [
      gateway.token,
      gateway.agentToken,
      gateway.credentials.sessionToken(id),
      gateway.credentials.sessionToken('x'),
      'wrong',
    ]
    const seen: number[] = []
    for (const token of statuses) {
      const response = await stream(path, token)
      seen.push(response.status)
      await response.body?.cancel()
    }
    expect(seen).toEqual([200, 200, 200, 403, 401])
  })

  it('of all sessions are for people only', async () => {
    const person = await stream('/api/events', gateway.token)
    expect(person.status).toBe(200)
    await person.body?.cancel()
    expect((await stream('/api/events', gateway.agentToken)).status).toBe(403)
  })

  it('are refused to pages of other sites', async () => {
    expect((await stream('/api/events', gateway.token, { origin: 'http://evil.example' })).status).toBe(403)
  })

  it('end when their credential is revoked', async () => {
    const token = gateway.credentials.createToken()
    await gateway.credentials.addToken('grace', token)
    const response = await stream(`/api/sessions/${id}/events`, token)
    let ended = false
    const read = response.text().finally(() => (ended = true))
    await stream('/api/agents', gateway.token)
    expect(ended).toBe(false)
    await new Api(gateway).delete('/api/tokens/grace')
    expect(await read).toContain('event: session_started')
    expect((await stream(`/api/sessions/${id}/events`, token)).status).toBe(401)
  })

  it('are closed with the request to reconnect when the gateway drains', async () => {
    const response = await stream(`/api/sessions/${id}/events`, gateway.token)
    const read = response.text()
    await gateway.gateway.drain()
    expect(await read).toMatch(/^retry: \d+$/m)
  })

  it('are counted in the metrics', async () => {
    const response = await stream(`/api/sessions/${id}/events`, gateway.token)
    const { body } = await new Api(gateway).get<string>('/api/metrics')
    expect(body).toContain('askback_streams_open{transport="sse"} 1')
    await response.body?.cancel()
  })
})

describe('a WebSocket', () => {
  const bearer = () => ({ authorization: `Bearer ${gateway.token}` })

  it('is opened with a valid credential', async () => {
    expect(await upgrade(bearer())).toBe(101)
    expect(await upgrade({ authorization: `Bearer ${gateway.agentToken}` })).toBe(101)
    expect(await upgrade({})).toBe(401)
    expect(await upgrade({ authorization: 'Bearer wrong' })).toBe(401)
  })

  it('is opened for pages of this gateway only, cookie or not', async () => {
    const port = new URL(gateway.url).port
    expect(await upgrade({ ...bearer(), origin: `http://127.0.0.1:${port}` })).toBe(101)
    expect(await upgrade({ ...bearer(), origin: 'http://127.0.0.1:1' })).toBe(403)
    expect(await upgrade({ ...bearer(), origin: 'http://evil.example' })).toBe(403)
    expect(await upgrade({ ...bearer(), host: 'evil.example' })).toBe(403)
    expect(await upgrade({ ...bearer(), 'sec-fetch-site': 'cross-site' })).toBe(403)
  })

  describe('with a cookie', () => {
    const open = async (headers: Record<string, string>) => {
      const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/api/ws`, { headers })
      const seen: unknown[] = []
      socket.on('message', (data: Buffer) => seen.push(JSON.parse(data.toString())))
      const closed = new Promise<number>((resolve) => socket.on('close', resolve))
      await once(socket, 'open')
      return { socket, seen, closed }
    }
    const subscribe = () => JSON.stringify({ op: 'subscribe', ref: 1, sessionId: id, after: 0 })

    it('is served after its first message has the proof', async () => {
      const { cookie, 'askback-proof': proof } = await signIn(gateway)
      const { socket, seen } = await open({ cookie })
      socket.send(JSON.stringify({ op: 'hello', proof }))
      socket.send(subscribe())
      await expect.poll(() => seen.length).toBeGreaterThan(2)
      expect(seen.slice(0, 2)).toEqual([
        { ref: null, ok: true },
        { ref: 1, ok: true },
      ])
      socket.terminate()
    })

    it('is served even if another port has set a cookie of the same name', async () => {
      const { cookie, 'askback-proof': proof } = await signIn(gateway)
      const other = await signIn(gateway)
      const { socket, seen } = await open({
        cookie: `${gateway.credentials.cookieName}=x; ${other.cookie}; ${cookie}`,
      })
      socket.send(JSON.stringify({ op: 'hello', proof }))
      await expect.poll(() => seen).toEqual([{ ref: null, ok: true }])
      socket.terminate()
    })

    it('is closed without a reply if another message comes first, even with the proof in a header', async () => {
      const login = await signIn(gateway)
      for (const headers of [{ cookie: login.cookie }, { ...login }]) {
        const { socket, seen, closed } = await open(headers)
        socket.send(subscribe())
        socket.send(JSON.stringify({ op: 'hello', proof: login['askback-proof'] }))
        expect(await closed).toBe(4401)
        expect(seen).toEqual([])
      }
    })

    it('ends at a wrong proof, which counts as a failed login', async () => {
      const { cookie } = await signIn(gateway)
      const other = await signIn(gateway)
      for (const proof of ['wrong', other['askback-proof'], '\u00e9', '', undefined]) {
        const { socket, seen, closed } = await open({ cookie })
        socket.send(JSON.stringify({ op: 'hello', ref: 'h', proof }))
        expect(await closed).toBe(4401)
        expect(seen).toMatchObject([{ ref: 'h', ok: false, error: { code: 'unauthorized' } }])
      }
      for (let failed = 0; failed < 18; failed++) await upgrade({ authorization: 'Bearer wrong' })
      const { socket, seen, closed } = await open({ cookie })
      socket.send(JSON.stringify({ op: 'hello', proof: 'wrong' }))
      await closed
      expect(seen).toMatchObject([{ ok: false, error: { code: 'rate_limited' } }])
    })

    it('reads nothing after a wrong proof', async () => {
      const { cookie } = await signIn(gateway)
      const { socket, seen, closed } = await open({ cookie })
      for (let sent = 0; sent < 30; sent++) socket.send(JSON.stringify({ op: 'hello', proof: 'wrong' }))
      expect(await closed).toBe(4401)
      expect(seen).toMatchObject([{ ok: false, error: { code: 'unauthorized' } }])
      // All messages together count as one failed login; twenty would be too many.
      expect(await upgrade({ authorization: 'Bearer wrong' })).toBe(401)
    })

    it('is closed if no message comes in time', async () => {
      const clock = fakeClock()
      await gateway.close()
      gateway = await startTestGateway({ clock })
      const { cookie } = await signIn(gateway)
      const { seen, closed } = await open({ cookie })
      clock.advance(10_000)
      expect(await closed).toBe(4401)
      expect(seen).toEqual([])
    })

    it('is closed when this login ends, and not when another login of the same person does', async () => {
      const [one, two] = [await signIn(gateway), await signIn(gateway)]
      const [first, second, silent] = [await open({ ...one }), await open({ ...two }), await open({ ...one })]
      for (const [{ socket }, login] of [
        [first, one],
        [second, two],
      ] as const)
        socket.send(JSON.stringify({ op: 'hello', proof: login['askback-proof'] }))
      await expect
        .poll(() => [first.seen, second.seen])
        .toEqual([[{ ref: null, ok: true }], [{ ref: null, ok: true }]])
      expect((await new Api(gateway, null, { ...one }).post('/api/logout')).status).toBe(200)
      // Both are disconnected at once, also the one without a hello, which is not closed later by its timeout.
      expect(await Promise.all([first.closed, silent.closed])).toEqual([1006, 1006])
      second.socket.send(JSON.stringify({ op: 'ping', ref: 2 }))
      await expect.poll(() => second.seen).toContainEqual({ ref: 2, ok: true })
      expect((await new Api(gateway, null, { ...two }).post('/api/logout', { all: true })).status).toBe(200)
      await second.closed
    })

    it('of a page of another origin that may call the API is refused', async () => {
      await gateway.close()
      gateway = await startTestGateway({ config: { allowedOrigins: ['https://ide.example'] } })
      const { cookie } = await signIn(gateway)
      expect(await upgrade({ cookie, origin: 'https://ide.example' })).toBe(401)
    })

    it('does not delay a gateway that drains', async () => {
      const { cookie } = await signIn(gateway)
      const { closed } = await open({ cookie })
      await gateway.gateway.drain()
      expect(await closed).toBe(1012)
    })
  })

  it('accepts messages as deeply nested as an HTTP body may be', async () => {
    await gateway.close()
    gateway = await startTestGateway({ config: { limits: { jsonDepth: 3 } } })
    const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/api/ws`, { headers: bearer() })
    await once(socket, 'open')
    const sent = async (more: unknown) => {
      socket.send(JSON.stringify({ op: 'ping', ref: 1, more }))
      const [data] = (await once(socket, 'message')) as [Buffer]
      return JSON.parse(data.toString()) as unknown
    }
    expect(await sent([[]])).toEqual({ ref: 1, ok: true })
    expect(await sent([[[]]])).toMatchObject({ ref: 1, ok: false, error: { code: 'invalid_request' } })
    socket.terminate()
  })

  it('is refused with the same Retry-After as any other request', async () => {
    const wrong = { authorization: 'Bearer wrong' }
    for (let failed = 0; failed < 20; failed++) await upgrade(wrong)
    const { statusCode, headers } = await upgradeAnswer(wrong)
    expect(statusCode).toBe(429)
    // The rest of the minute, and not the default.
    expect(Number(headers['retry-after'])).toBeGreaterThan(10)
  })

  it('settles nothing for a person whose revocation this gateway has missed', async () => {
    await gateway.close()
    gateway = await startTestGateway({ store: { ...memoryStore(), shared: true }, clock: fakeClock() })
    const owner = new Api(gateway)
    const { body } = await owner.post<{ token: string }>('/api/tokens', { person: 'bob' })
    const { sessionId, interactionId } = await owner.open(await owner.session(), approval)
    const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/api/ws`, {
      headers: { authorization: `Bearer ${body.token}` },
    })
    const seen: unknown[] = []
    socket.on('message', (data: Buffer) => seen.push(JSON.parse(data.toString())))
    await once(socket, 'open')
    // Written as another gateway would.
    const { kv } = gateway.store
    const [record] = await kv.list('credential/person/')
    await kv.put(record!.key, { ...(record!.value as object), revokedAt: 1 }, record!.version)
    const answer = { decision: 'approve' }
    socket.send(JSON.stringify({ op: 'respond', ref: 1, sessionId, interactionId, answer }))
    // The answer is refused, or the socket is disconnected first, because the gateway knows of the revocation now.
    const isOver = () => seen.length > 0 || socket.readyState === WebSocket.CLOSED
    await expect.poll(isOver).toBe(true)
    for (const said of seen) expect(said).toMatchObject({ ok: false, error: { code: 'unauthorized' } })
    expect((await gateway.host.desk.interaction(sessionId, interactionId)).status).toBe('pending')
    socket.terminate()
  })

  it('ends when its credential is revoked', async () => {
    const token = gateway.credentials.createToken()
    await gateway.credentials.addToken('grace', token)
    const headers = { authorization: `Bearer ${token}` }
    const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/api/ws`, { headers })
    await once(socket, 'open')
    const closed = once(socket, 'close')
    await new Api(gateway).delete('/api/tokens/grace')
    await closed
    expect(socket.readyState).toBe(WebSocket.CLOSED)
  })
})
