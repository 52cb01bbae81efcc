import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get, request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Api, startTestGateway, type TestGateway } from '../testing/index.js'

let gateway: TestGateway
let webApp: string
beforeAll(async () => {
  webApp = mkdtempSync(join(tmpdir(), 'askback-web-'))
  writeFileSync(join(webApp, 'index.html'), '<title>Askback</title>')
  writeFileSync(join(webApp, 'app.js'), 'export {}')
  gateway = await startTestGateway({ webApp })
})
afterAll(async () => {
  await gateway.close()
  rmSync(webApp, { recursive: true })
})

const EXPECTED: Record<string, RegExp> = {
  'content-security-policy': /default-src 'none'.*frame-ancestors 'none'/,
  'x-content-type-options': /^nosniff$/,
  'x-frame-options': /^DENY$/,
  'referrer-policy': /^no-referrer$/,
  'cross-origin-resource-policy': /^same-origin$/,
  'cross-origin-opener-policy': /^same-origin$/,
  'origin-agent-cluster': /^\?1$/,
  'x-permitted-cross-domain-policies': /^none$/,
  'permissions-policy': /^accelerometer=\(\), camera=\(\), geolocation=\(\).*screen-wake-lock=\(\)$/,
}

function wrongIn(headers: Record<string, unknown>): string[] {
  return Object.keys(EXPECTED).filter((name) => !EXPECTED[name]!.test(String(headers[name])))
}

it('are on every response, for every caller', async () => {
  const person = new Api(gateway)
  const { body } = await person.get<{ paths: Record<string, object> }>('/api/openapi.json')
  const id = await person.session()
  const code = gateway.credentials.createLoginCode(gateway.credentials.owner)
  const routes = Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => [method.toUpperCase(), path] as const),
  )
  const more = [
    ['GET', '/'],
    ['HEAD', '/'],
    ['GET', '/app.js'],
    ['GET', '/missing.js'],
    ['GET', `/login?code=${code}`],
    ['GET', '/login?code=wrong'],
    ['PUT', '/api/sessions'],
    ['OPTIONS', '/api/sessions'],
    ['GET', '/%'],
    ['GET', '/api/nothing'],
  ] as const
  for (const [method, template] of [...routes, ...more]) {
    // Streams do not end; the next test has them.
    if (template === '/api/events' || template === '/api/ws') continue
    const path = template.replace('/sessions/{id}', `/sessions/${id}`).replaceAll(/\{\w+\}/g, 'x')
    for (const api of [person, new Api(gateway, null)]) {
      const sent = method === 'POST' ? {} : undefined
      const { status, headers } = await api.send(method, path, sent, { accept: 'application/json' })
      expect({ method, path, status, wrong: wrongIn(headers) }).toMatchObject({ wrong: [] })
    }
  }
})

it('are on streams, on refused sockets and on responses to invalid HTTP', async () => {
  const authorization = `Bearer ${gateway.token}`
  const stream = await new Promise<IncomingMessage>((resolve) => {
    get(`${gateway.url}/api/events`, { headers: { authorization } }, resolve)
  })
  expect(wrongIn(stream.headers)).toEqual([])
  stream.destroy()
  const upgrade = { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
  const refused = await new Promise<IncomingMessage>((resolve) => {
    request(`${gateway.url}/api/ws`, { headers: upgrade }, resolve).end()
  })
  expect(wrongIn(refused.headers)).toEqual([])
  const text = await new Promise<string>((resolve) => {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1', () =>
      socket.write('nonsense\r\n\r\n'),
    )
    socket.setEncoding('utf8').once('data', resolve)
  })
  const lines = text
    .split('\r\n')
    .slice(1)
    .flatMap((line) => {
      const [name, ...value] = line.split(': ')
      return value.length > 0 ? [[name!.toLowerCase(), value.join(': ')]] : []
    })
  expect(wrongIn(Object.fromEntries(lines) as Record<string, string>)).toEqual([])
})
