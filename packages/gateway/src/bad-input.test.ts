import type { ErrorBody } from '@askback/protocol'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Api, startTestGateway, type TestGateway } from './testing/index.js'

let gateway: TestGateway
let id: string
beforeAll(async () => {
  gateway = await startTestGateway()
  id = await new Api(gateway).session()
})
afterAll(() => gateway.close())

interface Refused {
  status: number
  error: ErrorBody['error']
}

async function send(
  body: BodyInit,
  headers: Record<string, string> = {},
  path = `/api/sessions/${id}/messages`,
): Promise<Refused> {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json', ...headers },
    body,
  })
  const { error } = (await response.json()) as ErrorBody
  return { status: response.status, error }
}

/** Everything that the server sends until it closes the connection, or until `enough`. */
async function sendRaw(text: string | Buffer, enough = /$^/): Promise<string> {
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  let answer = ''
  socket.setEncoding('utf8').on('data', (data: string) => {
    answer += data
    if (enough.test(answer)) socket.end()
  })
  socket.write(text)
  await once(socket, 'close')
  return answer
}

describe('a body', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`

  it.each<[string, BodyInit, RegExp]>([
    ['is no JSON', '{"text":', /not valid JSON/],
    ['is several values', '{} {}', /not valid JSON/],
    ['has a trailing comma', '{"text":"a",}', /not valid JSON/],
    ['is not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), /UTF-8/],
    ['holds a surrogate alone', String.raw`{"text":"\ud800"}`, /surrogate/],
    ['is nested too deeply', `{"text":${nested(101)}}`, /nested too deeply/],
    ['is nested so deeply that a parser could fall over', nested(500_000), /nested too deeply/],
    ['holds __proto__', '{"text":"a","__proto__":{"admin":true}}', /prototype key/],
    ['holds __proto__ inside', '{"text":{"a":[{"__proto__":1}]}}', /prototype key/],
    ['holds constructor.prototype', '{"text":"a","constructor":{"prototype":{}}}', /prototype key/],
    ['holds an integer that JSON would change', '{"text":9007199254740993}', /2\^53/],
    ['holds a number that is not finite', '{"text":1e400}', /finite/],
    ['is empty', '', /needs a body/],
    ['is null', 'null', /does not fit/],
    ['is a list', '[]', /does not fit/],
  ])('that %s is refused with a message', async (_, body, words) => {
    const { status, error } = await send(body)
    expect({ status, code: error.code }).toEqual({ status: 400, code: 'invalid_request' })
    expect(error.message).toMatch(words)
  })

  it('of 20 MB is refused with a response that its sender can read', async () => {
    expect(await send(Buffer.alloc(20 * 1024 * 1024, 'x'))).toMatchObject({
      status: 413,
      error: { code: 'too_large' },
    })
  })

  it('without a Content-Length is refused at the limit, too', async () => {
    const chunk = Buffer.alloc(1024 * 1024, 'x')
    const body = new ReadableStream({
      start(controller) {
        for (let sent = 0; sent < 20; sent++) controller.enqueue(chunk)
        controller.close()
      },
    })
    const response = await fetch(`${gateway.url}/api/sessions/${id}/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' },
      body,
      duplex: 'half',
    } as RequestInit)
    expect(response.status).toBe(413)
  })

  describe('of a route that needs no credential', () => {
    const valid = (bytes: number) => JSON.stringify({ code: 'x'.repeat(bytes - '{"code":""}'.length) })

    it('is refused by its Content-Length before it is read', async () => {
      const head = (bytes: number) =>
        `POST /api/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`
      expect(await sendRaw(head(16 * 1024 + 1), /too_large/)).toMatch(/^HTTP\/1.1 413 /)
    })

    it('is refused at its own limit without a Content-Length', async () => {
      const chunked = (body: string) =>
        'POST /api/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n' +
        `${body.length.toString(16)}\r\n${body}\r\n`
      expect(await sendRaw(chunked(valid(16 * 1024 + 1)), /too_large/)).toMatch(/^HTTP\/1.1 413 /)
    })

    it('is read up to that limit', async () => {
      expect((await send(valid(16 * 1024), {}, '/api/login')).status).toBe(401)
      expect(await send(valid(16 * 1024 + 1), {}, '/api/login')).toMatchObject({
        status: 413,
        error: { message: 'The body is larger than 16 kB.' },
      })
    })

    it('is not read for a connector that does not exist', async () => {
      const head =
        'POST /api/connectors/none/updates HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n'
      expect(await sendRaw(head, /not_found/)).toMatch(/^HTTP\/1.1 404 /)
    })
  })

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/json',
    'nonsense',
  ])('of type %s is refused', async (type) => {
    expect(await send('{"text":"a"}', { 'content-type': type })).toMatchObject({
      status: 415,
      error: { code: 'unsupported_media_type' },
    })
  })

  it.each(['application/json; charset=utf-8', 'Application/JSON'])('of type %s is accepted', async (type) => {
    const response = await fetch(`${gateway.url}/api/sessions/${id}/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.token}`, 'content-type': type },
      body: '{"text":"hello"}',
    })
    expect(response.status).toBe(202)
  })

  it('is not needed if the route has none', async () => {
    const url = `${gateway.url}/api/sessions/${id}/clear`
    const authorization = `Bearer ${gateway.token}`
    expect((await fetch(url, { method: 'POST', headers: { authorization } })).status).toBe(202)
    const typed = { authorization, 'content-type': 'application/json' }
    expect((await fetch(url, { method: 'POST', headers: typed })).status).toBe(202)
    expect((await fetch(url, { method: 'POST', headers: typed, body: '{' })).status).toBe(400)
    const plain = { authorization, 'content-type': 'text/plain' }
    expect((await fetch(url, { method: 'POST', headers: plain })).status).toBe(415)
  })

  it('that does not parse keeps the connection usable', async () => {
    const request = (body: string) =>
      `POST /api/sessions/${id}/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${gateway.token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const answers = await sendRaw(request('{') + request('{"text":"hello"}'), /1\.1 \d+[^]*1\.1 \d+/)
    expect(answers.match(/HTTP\/1\.1 (\d+)/g)).toEqual(['HTTP/1.1 400', 'HTTP/1.1 202'])
  })
})

describe('a URL', () => {
  const authorization = () => ({ authorization: `Bearer ${gateway.token}` })
  it.each([
    ['GET', '/api/nothing', 404, 'not_found'],
    ['GET', '/nothing', 404, 'not_found'],
    ['PUT', '/api/sessions', 404, 'not_found'],
    ['PATCH', '/api/sessions/x', 404, 'not_found'],
    ['POST', '/healthz', 404, 'not_found'],
    ['GET', '/api/sessions/%', 400, 'invalid_request'],
    ['GET', '/api/sessions/%ff', 400, 'invalid_request'],
    ['GET', '/api/sessions/..%2f..%2fetc', 404, 'not_found'],
    ['GET', `/api/sessions/${'x'.repeat(2000)}`, 404, 'not_found'],
    ['GET', '/api/sessions/__proto__', 404, 'not_found'],
    ['GET', '/api/sessions/constructor', 404, 'not_found'],
    ['GET', '/api/sessions?limit=abc', 400, 'invalid_request'],
    ['DELETE', '/api/rules/session.x', 404, 'not_found'],
    ['DELETE', '/api/rules/%00', 404, 'not_found'],
  ])('%s %s answers %i', async (method, path, status, code) => {
    const response = await fetch(`${gateway.url}${path}`, { method, headers: authorization() })
    const { error } = (await response.json()) as ErrorBody
    expect({ status: response.status, code: error.code }).toEqual({ status, code })
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
  })

  it('with HEAD for an interaction claims nothing', async () => {
    const item = await new Api(gateway).open(id)
    const url = `${gateway.url}/api/sessions/${id}/interactions/${item.interactionId}`
    expect((await fetch(url, { method: 'HEAD', headers: authorization() })).status).toBe(404)
  })
})

describe('invalid HTTP', () => {
  it.each([
    ['nonsense', 'nonsense\r\n\r\n'],
    ['a broken header', 'GET / HTTP/1.1\r\nHost localhost\r\n\r\n'],
    // Few enough that the server has read them all when it closes: otherwise its response would be lost.
    ['headers without end', `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
  ])('%s gets a response in JSON', async (_, text) => {
    const answer = await sendRaw(text)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('"code":"invalid_request"')
  })

  it('a client that disconnects in the middle of a body affects no other client', async () => {
    const head = `POST /api/sessions/${id}/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${gateway.token}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"te`
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(head)
    await new Promise((resolve) => setImmediate(resolve))
    socket.resetAndDestroy()
    await once(socket, 'close')
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200)
  })
})

it('does not reveal internal errors', async () => {
  const errors: unknown[] = []
  const broken = await startTestGateway({ listen: false, onError: (error) => errors.push(error) })
  broken.host.agents = () => Promise.reject(new Error('the secret is 42'))
  const answered = await new Api(broken).get('/api/agents')
  expect(answered).toMatchObject({ status: 500, body: { error: { code: 'internal' } } })
  expect(JSON.stringify(answered.body)).not.toContain('42')
  await broken.close()
})
