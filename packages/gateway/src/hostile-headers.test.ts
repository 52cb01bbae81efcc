import { fakeClock } from '@askback/core/testing'
import * as fc from 'fast-check'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Api, signIn, startTestGateway, type BrowserLogin, type TestGateway } from './testing/index.js'

let gateway: TestGateway
let login: BrowserLogin
beforeAll(async () => {
  gateway = await startTestGateway({
    config: {
      allowedHosts: ['askback.example'],
      allowedOrigins: ['https://ide.example'],
      limits: { failedLoginsPerMinute: 1_000_000 },
    },
  })
  login = await signIn(gateway)
})
afterAll(() => gateway.close())

/** Sends raw bytes that no client library would send. Resolves to the status. */
function raw(path: string, headers: Record<string, string>): Promise<number> {
  const { port } = new URL(gateway.url)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(Number(port), '127.0.0.1', () =>
      socket.write(
        Buffer.from(`GET ${path} HTTP/1.1\r\n${lines.join('')}connection: close\r\n\r\n`, 'latin1'),
      ),
    )
    socket.setEncoding('latin1').on('data', (data: string) => {
      text += data
      if (!text.includes('\r\n')) return
      resolve(Number(text.split(' ')[1]))
      socket.destroy()
    })
    socket.on('error', reject).on('close', () => reject(new Error(`No answer: ${text}`)))
  })
}

describe('is refused without an internal error:', () => {
  const host = 'localhost:4100'
  const upgrade = {
    connection: 'upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }

  it.each([
    ['a token with a byte above 0x7F', { authorization: 'Bearer askback_session_x.\u00e9' }, 401],
    ['a session token that differs in bytes only', { authorization: '' }, 401],
    ['a port that is none', { host: 'localhost:99999', origin: 'http://localhost:99999' }, 403],
    ['a port that is none, without a page', { host: 'localhost:65536' }, 403],
    ['an address that is none', { host: '[:::]', origin: 'http://localhost' }, 403],
    ['an origin whose port is none', { host, origin: 'http://localhost:99999' }, 403],
  ])('%s', async (_, given, status) => {
    const headers: Record<string, string> = { host, ...given }
    if (headers['authorization'] === '') {
      // As many characters as a valid token, but one byte more.
      headers['authorization'] = `Bearer ${gateway.credentials.sessionToken('x').slice(0, -1)}\u00e9`
    }
    expect(await raw('/api/sessions', headers)).toBe(status)
    expect(await raw('/api/events', headers)).toBe(status)
    expect(await raw('/api/ws', { ...headers, ...upgrade })).toBe(status)
  })
})

it('counts a malformed Host and a malformed token as failed logins', async () => {
  const probed = await startTestGateway({ listen: false, clock: fakeClock() })
  const stranger = new Api(probed, null)
  for (let count = 0; count < 10; count++) {
    const token = { authorization: 'Bearer askback_session_x.\u00e9' }
    expect((await stranger.get('/api/sessions', token)).status).toBe(401)
    expect((await stranger.get('/api/sessions', { host: 'localhost:99999' })).status).toBe(403)
  }
  expect((await stranger.get('/api/sessions', { host: 'localhost:99999' })).status).toBe(429)
  expect((await new Api(probed).get('/api/sessions')).status).toBe(200)
  await probed.close()
})

it('no combination of headers causes an internal error', async () => {
  /** The characters that a header may contain. */
  const bytes = fc
    .array(
      fc.integer({ min: 0x20, max: 0xff }).filter((byte) => byte !== 0x7f),
      { maxLength: 60 },
    )
    .map((codes) => String.fromCharCode(...codes))
  const near = (...texts: string[]) =>
    fc.oneof(
      bytes,
      fc.constantFrom(...texts),
      fc.tuple(fc.constantFrom(...texts), bytes).map(([text, more]) => text + more),
      fc.tuple(fc.constantFrom(...texts), fc.nat(200)).map(([text, at]) => text.slice(0, at)),
    )
  const cookieName = gateway.credentials.cookieName
  const token = gateway.credentials.sessionToken('x')
  const headers = fc.record(
    {
      host: near('localhost:4100', 'localhost:', '[::1]:4100', 'askback.example', '127.0.0.1:99999'),
      origin: near(
        'http://localhost:4100',
        'https://ide.example',
        'null',
        'http://[',
        'http://localhost:99999',
      ),
      'sec-fetch-site': near('same-origin', 'cross-site'),
      authorization: near(`Bearer ${gateway.token}`, `Bearer ${token}`, 'Bearer askback_session_', 'Basic x'),
      cookie: near(login.cookie, `${cookieName}=`, cookieName),
      'askback-proof': near(login['askback-proof'], ''),
      'askback-surface': near('cli'),
      'idempotency-key': bytes,
      'last-event-id': near('1', '-1'),
      'content-type': near('application/json', 'text/plain'),
      accept: near('application/json', 'text/event-stream'),
      'accept-encoding': near('gzip'),
      'x-forwarded-for': near('1.2.3.4', '::1'),
      'x-forwarded-proto': near('https', 'https,http'),
      'x-forwarded-host': near('evil.example'),
      'access-control-request-method': near('POST'),
      'access-control-request-headers': near('authorization'),
    },
    { requiredKeys: [] },
  )
  const targets = fc.constantFrom(
    ['GET', '/api/sessions'],
    ['POST', '/api/logins'],
    ['POST', '/api/login'],
    ['POST', '/api/logout'],
    ['GET', '/login'],
    ['GET', '/'],
    ['OPTIONS', '/api/sessions'],
  )
  await fc.assert(
    fc.asyncProperty(headers, targets, async (given, [method, path]) => {
      const sent = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value.trim()]))
      const { status } = await new Api(gateway, null).send(method, path, undefined, sent)
      expect(status).toBeLessThan(500)
    }),
    { numRuns: 1500 },
  )
})
