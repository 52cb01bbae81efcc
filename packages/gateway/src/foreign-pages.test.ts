import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  Api,
  question,
  signIn,
  startTestGateway,
  type BrowserLogin,
  type TestGateway,
} from './testing/index.js'

let gateway: TestGateway
let login: BrowserLogin
let id: string
beforeAll(async () => {
  gateway = await startTestGateway({ listen: false, config: { allowedHosts: ['askback.example'] } })
  login = await signIn(gateway)
  id = await new Api(gateway).session()
})
afterAll(() => gateway.close())

/** Headers of a logged-in browser that shows a page of another site. */
const browser = () => new Api(gateway, null, { ...login })

async function routes(): Promise<{ method: string; path: string }[]> {
  type Document = { paths: Record<string, object> }
  const { body } = await new Api(gateway).get<Document>('/api/openapi.json')
  return Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({
      method: method.toUpperCase(),
      path: path.replace('/sessions/{id}', `/sessions/${id}`).replaceAll(/\{\w+\}/g, 'x'),
    })),
  )
}

describe('a page of another site', () => {
  it.each([
    ['that has rebound its name to this machine', { host: 'evil.example', origin: 'http://evil.example' }],
    ['on another port of this machine', { host: 'localhost:4100', origin: 'http://localhost:3000' }],
    ['in a sandbox', { host: 'localhost:4100', origin: 'null' }],
  ])('%s reaches no route', async (_, headers) => {
    for (const { method, path } of await routes()) {
      // `inject` cannot upgrade; WebSockets are tested with a real connection.
      if (path === '/api/ws') continue
      const { status, body } = await browser().send(method, path, method === 'POST' ? {} : undefined, headers)
      expect({ method, path, status, body }).toMatchObject({
        status: 403,
        body: { error: { code: 'forbidden' } },
      })
    }
  })

  it('writes nothing even if its browser sends no Origin', async () => {
    const before = await gateway.host.desk.snapshot(id)
    for (const { method, path } of await routes()) {
      if (method === 'GET') continue
      const body = method === 'POST' ? { text: 'x', ...question } : undefined
      const { status } = await browser().send(method, path, body, { 'sec-fetch-site': 'cross-site' })
      expect({ method, path, status }).toMatchObject({ status: 403 })
    }
    expect((await gateway.host.desk.snapshot(id)).seq).toBe(before.seq)
  })

  it('cannot send what a form can send', async () => {
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    const sent = await browser().send('POST', `/api/sessions/${id}/messages`, { text: 'x' }, type)
    expect(sent.status).toBe(415)
    expect((await browser().send('POST', `/api/sessions/${id}/clear`, undefined, type)).status).toBe(415)
  })
})

it('a page of the gateway may do what its person may', async () => {
  const own = { host: 'askback.example', origin: 'https://askback.example', 'sec-fetch-site': 'same-origin' }
  expect((await browser().post(`/api/sessions/${id}/messages`, { text: 'hello' }, own)).status).toBe(202)
})
