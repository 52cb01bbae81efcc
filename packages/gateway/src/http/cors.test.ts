import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Api, signIn, startTestGateway, type TestGateway } from '../testing/index.js'

const IDE = 'https://ide.example'
let gateway: TestGateway
beforeEach(async () => {
  gateway = await startTestGateway({ config: { allowedOrigins: [IDE] } })
})
afterEach(() => gateway.close())

const page = { origin: IDE, 'sec-fetch-site': 'cross-site' }

describe('a preflight', () => {
  const preflight = (headers: Record<string, string>, path = '/api/sessions/x/interactions') =>
    new Api(gateway, null).send('OPTIONS', path, undefined, {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,idempotency-key',
      ...headers,
    })

  it.each(['/api/sessions', '/api/sessions/x/interactions/y/response', '/mcp', '/api/agui'])(
    'of an allowed origin says what it may send to %s',
    async (path) => {
      const { status, headers } = await preflight(page, path)
      expect(status).toBe(204)
      expect(headers['access-control-allow-origin']).toBe(IDE)
      expect(headers['access-control-allow-methods']).toBe('GET, POST, DELETE')
      const allowed = String(headers['access-control-allow-headers']).toLowerCase().split(', ')
      expect(allowed).toEqual(
        expect.arrayContaining([
          'authorization',
          'content-type',
          'idempotency-key',
          'last-event-id',
          'askback-surface',
          'askback-tool-call',
          'askback-agent-thread',
          'askback-source',
        ]),
      )
      expect(Number(headers['access-control-max-age'])).toBeGreaterThan(0)
      expect(String(headers.vary).toLowerCase()).toContain('origin')
      expect(headers['access-control-allow-credentials']).toBeUndefined()
    },
  )

  it('may come from a public site, if the browser asks for private network access', async () => {
    const asked = { ...page, 'access-control-request-private-network': 'true' }
    expect((await preflight(asked)).headers['access-control-allow-private-network']).toBe('true')
    expect((await preflight(page)).headers['access-control-allow-private-network']).toBeUndefined()
  })

  it.each([
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: `${IDE}.evil.example` }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: IDE, host: 'evil.example' }, 403],
    [{}, 404],
  ])('of any other page, %o, allows nothing', async (headers: Record<string, string>, status) => {
    const refused = await preflight(headers)
    expect(refused.status).toBe(status)
    expect(refused.headers['access-control-allow-methods']).toBeUndefined()
  })
})

describe('a response', () => {
  it('can be read by a page of an allowed origin, including errors and Retry-After', async () => {
    const person = new Api(gateway)
    const answers = [
      await person.get('/api/sessions', page),
      await person.post('/api/sessions', { agent: null }, page),
      await person.get('/api/sessions/nothing', page),
      await person.post('/api/sessions', { agent: 7 }, page),
      await new Api(gateway, 'wrong').get('/api/sessions', page),
      await person.get('/api/audit', page),
      await person.get('/api/nothing', page),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 201, 404, 400, 401, 200, 404])
    for (const { headers } of answers) {
      expect(headers['access-control-allow-origin']).toBe(IDE)
      expect(headers['access-control-expose-headers']).toContain('Retry-After')
      expect(headers['access-control-allow-credentials']).toBeUndefined()
      expect(headers.vary).toBe('Origin')
    }
  })

  it('that is a stream can be read, too', async () => {
    const id = await new Api(gateway).session()
    for (const path of ['/api/events', `/api/sessions/${id}/events`]) {
      const headers = { ...page, authorization: `Bearer ${gateway.token}` }
      const stream = await fetch(gateway.url + path, { headers })
      expect(stream.headers.get('access-control-allow-origin')).toBe(IDE)
      await stream.body?.cancel()
    }
  })

  it('cannot be read by other pages', async () => {
    const own = { host: 'localhost:4100', origin: 'http://localhost:4100' }
    for (const headers of [{}, own, { origin: 'https://evil.example' }] as Record<string, string>[]) {
      const answered = await new Api(gateway).get('/api/sessions', headers)
      expect(answered.headers['access-control-allow-origin']).toBeUndefined()
    }
  })

  it('to a request with a cookie is 401, with or without its proof', async () => {
    const { status, headers } = await new Api(gateway, null, { ...(await signIn(gateway)) }).get(
      '/api/sessions',
      page,
    )
    expect(status).toBe(401)
    expect(headers['access-control-allow-origin']).toBe(IDE)
  })
})
