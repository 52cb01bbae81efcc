import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { startTestGateway, type TestGateway } from '../testing/index.js'
import { withoutPrefix } from './mount.js'

const PREFIX = '/tools/askback'
const HTML =
  '<!doctype html><html lang="en"><link href="./icon.svg" /><script src="./assets/a.js"></script></html>'

let root: string
let gateway: TestGateway
let server: Server
let origin: string
let upgrades: boolean
let prefix: string
beforeEach(async () => {
  upgrades = true
  prefix = PREFIX
  root = mkdtempSync(join(tmpdir(), 'askback-prefix-'))
  mkdirSync(join(root, 'assets'))
  writeFileSync(join(root, 'index.html'), HTML)
  writeFileSync(join(root, 'index.html.gz'), gzipSync(HTML))
  writeFileSync(join(root, 'assets', 'a.js'), 'export {}')
  gateway = await startTestGateway({ listen: false, webApp: root })
  const mount = () => ({ prefix, source: null, upgrades })
  server = createServer((request, response) => {
    const url = withoutPrefix(request.url ?? '', PREFIX)
    if (url === null) {
      response.end('the host')
      return
    }
    request.url = url
    void gateway.gateway.handle(request, response, mount())
  })
  server.on('upgrade', (request, socket, head) => {
    request.url = withoutPrefix(request.url ?? '', PREFIX) ?? ''
    void gateway.gateway.upgrade(request, socket, head, mount())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(async () => {
  await gateway.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  rmSync(root, { recursive: true })
})

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(origin + path, { headers, redirect: 'manual' })
const authorization = () => ({ authorization: `Bearer ${gateway.token}` })

describe('a gateway under a path of another server', () => {
  it.each([PREFIX, `${PREFIX}/`, `${PREFIX}/inbox`, `${PREFIX}?x=1`])(
    'serves the web app at %s with addresses under that path',
    async (path) => {
      const page = await get(path)
      expect(page.headers.get('content-encoding')).toBe('gzip')
      const html = await page.text()
      expect(html).toBe(HTML.replaceAll('"./', `"${PREFIX}/`))
      const [, script] = /src="([^"]+)"/.exec(html)!
      expect(await (await get(script!)).text()).toBe('export {}')
    },
  )

  it('says in the page that there are no WebSockets, if the server passes on no upgrades', async () => {
    upgrades = false
    expect(await (await get(PREFIX)).text()).toContain('<html data-sse="true" lang="en">')
  })

  it('leaves every other path to the server', async () => {
    for (const path of ['/', '/api/sessions', '/tools/askbackwards', '/tools'])
      expect(await (await get(path)).text()).toBe('the host')
  })

  it('has its API there, and says so in its OpenAPI document', async () => {
    const document = await get(`${PREFIX}/api/openapi.json`, authorization())
    expect(await document.json()).toMatchObject({ servers: [{ url: PREFIX }] })
  })

  it('logs a browser in with a link, a page and a cookie that are all under that path', async () => {
    const made = await fetch(`${origin}${PREFIX}/api/logins`, { method: 'POST', headers: authorization() })
    const { openUrl } = (await made.json()) as { openUrl: string }
    expect(openUrl.startsWith(`${origin}${PREFIX}/login?code=`)).toBe(true)
    const page = await (await fetch(openUrl)).text()
    expect(page).toContain(`data-base="${PREFIX}"`)
    expect(page).toContain(`href="${PREFIX}/icon.svg"`)
    const login = await fetch(`${origin}${PREFIX}/api/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code: new URL(openUrl).searchParams.get('code') }),
    })
    expect(login.status).toBe(200)
    expect(login.headers.get('set-cookie')).toContain(`; Path=${PREFIX}/;`)
  })

  it('sets no other attributes of the cookie because of a path with a parameter', async () => {
    prefix = '/t/x;Domain=evil.example;SameSite=None/askback'
    const code = gateway.credentials.createLoginCode(gateway.credentials.owner)
    const login = await fetch(`${origin}${PREFIX}/api/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
    })
    const attributes = login.headers.get('set-cookie')!.split('; ').slice(1, 4)
    expect(attributes).toEqual([
      'HttpOnly',
      'SameSite=Strict',
      'Path=/t/x%3BDomain=evil.example%3BSameSite=None/askback/',
    ])
  })

  it('serves its page whatever its path has', async () => {
    prefix = "/t/$'$$1/askback"
    expect(await (await get(PREFIX)).text()).toBe(HTML.replaceAll('"./', () => `"${prefix}/`))
  })

  it('opens WebSockets there', async () => {
    const socket = new WebSocket(`${origin.replace('http', 'ws')}${PREFIX}/api/ws`, {
      headers: authorization(),
    })
    const reply = await new Promise((resolve, reject) => {
      socket.on('open', () => socket.send('{"op":"ping","ref":1}'))
      socket.on('message', (data) => resolve((data as Buffer).toString()))
      socket.on('error', reject)
    })
    expect(reply).toBe('{"ref":1,"ok":true}')
    socket.close()
  })

  it('streams events, and ends the streams when it is closed; after that it is unavailable', async () => {
    const stream = await get(`${PREFIX}/api/events`, authorization())
    expect(stream.headers.get('content-type')).toContain('text/event-stream')
    const closed = gateway.gateway.close()
    expect(await stream.text()).toContain('retry:')
    await closed
    const late = await get(`${PREFIX}/api/sessions`, authorization())
    expect(late.status).toBe(503)
    expect(late.headers.get('retry-after')).toBe('1')
  })
})

describe('a prefix', () => {
  it('that is no path is refused', async () => {
    for (const prefix of ['askback', '/a/', '/<script>', '/a"b', '/a b']) {
      const before = server.listeners('request') as (() => void)[]
      server.removeAllListeners('request')
      server.on('request', (request, response) => {
        void gateway.gateway.handle(request, response, { prefix, source: null, upgrades })
      })
      expect((await get('/')).status).toBe(400)
      server.removeAllListeners('request')
      for (const listener of before) server.on('request', listener)
    }
  })
})
