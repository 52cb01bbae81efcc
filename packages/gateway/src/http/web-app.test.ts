import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Api, startTestGateway, type TestGateway } from '../testing/index.js'

let root: string
let gateway: TestGateway
let browser: Api
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'askback-web-'))
  const webApp = join(root, 'dist')
  mkdirSync(join(webApp, 'assets'), { recursive: true })
  writeFileSync(join(webApp, 'index.html'), '<title>Askback</title>')
  writeFileSync(join(webApp, 'assets', 'app-1a2b.js'), 'export {}')
  writeFileSync(join(root, 'secret.txt'), 'secret')
  gateway = await startTestGateway({ listen: false, webApp })
  browser = new Api(gateway, null)
})
afterEach(async () => {
  await gateway.close()
  rmSync(root, { recursive: true })
})

describe('the web app', () => {
  it.each(['/', '/sessions/abc', '/inbox?x=1'])('is a page at %s, for everyone', async (path) => {
    const { status, body, headers } = await browser.get<string>(path)
    expect({ status, body }).toEqual({ status: 200, body: '<title>Askback</title>' })
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(headers['cache-control']).toBe('no-cache')
  })

  it('has immutable files, with a hash in their name', async () => {
    const { status, headers } = await browser.get('/assets/app-1a2b.js')
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('text/javascript; charset=utf-8')
    expect(headers['cache-control']).toContain('immutable')
  })

  it('is sent compressed to clients that accept it, if the build has a compressed file', async () => {
    const packed = gzipSync('export {}')
    writeFileSync(join(root, 'dist', 'assets', 'app-1a2b.js.gz'), packed)
    const path = '/assets/app-1a2b.js'
    const { headers } = await browser.send('HEAD', path, undefined, { 'accept-encoding': 'gzip, br' })
    expect(headers).toMatchObject({
      'content-encoding': 'gzip',
      'content-type': 'text/javascript; charset=utf-8',
      'content-length': String(packed.length),
      vary: 'accept-encoding',
    })
    const plain = await browser.get<string>(path)
    expect(plain.body).toBe('export {}')
    expect(plain.headers['content-encoding']).toBeUndefined()
    const page = await browser.get('/', { 'accept-encoding': 'gzip' })
    expect(page.headers['content-encoding']).toBeUndefined()
  })

  it('responds to HEAD with headers only', async () => {
    const { status, body, headers } = await browser.send<string>('HEAD', '/')
    expect({ status, body }).toEqual({ status: 200, body: '' })
    expect(headers['content-length']).toBe('22')
  })

  it.each([
    '/assets/none.js',
    '/../secret.txt',
    '/..%2fsecret.txt',
    '/%2e%2e/secret.txt',
    '/assets/..%2f..%2fsecret.txt',
    '/assets/%00.js',
    '/api',
    '/api/x.js',
  ])('has nothing at %s', async (path) => {
    const { status, body } = await browser.get(path)
    expect(status).toBe(404)
    expect(body.error.code).toBe('not_found')
  })

  it('is not served under a host name that is not this gateway’s', async () => {
    expect((await browser.get('/', { host: 'evil.example' })).status).toBe(403)
  })
})

it('allows the inline script of the build’s page, and no other inline script', async () => {
  const webApp = join(root, 'with-script')
  mkdirSync(webApp)
  writeFileSync(join(webApp, 'index.html'), '<script>theme()</script><script src="/app.js"></script>')
  const other = await startTestGateway({ listen: false, webApp })
  const { headers } = await new Api(other, null).get('/')
  const hash = createHash('sha256').update('theme()').digest('base64')
  const policy = String(headers['content-security-policy']).split('; ')
  expect(policy).toContain(`script-src 'self' 'sha256-${hash}'`)
  await other.close()
})

it('says that the gateway runs if there is no build', async () => {
  const bare = await startTestGateway({ listen: false })
  const { status, body } = await new Api(bare, null).get<string>('/')
  expect(status).toBe(200)
  expect(body).toContain('The gateway runs')
  await bare.close()
})

describe('every response', () => {
  const paths = [
    '/',
    '/healthz',
    '/assets/app-1a2b.js',
    '/api/sessions',
    '/api/nothing',
    '/nothing.js',
    '/api/audit',
    '/api/metrics',
    '/login?code=x',
    '/api/sessions/%',
  ]
  it.each(paths)('of %s has the headers that keep other sites out', async (path) => {
    for (const token of [gateway.token, null]) {
      const { headers } = await new Api(gateway, token).get(path)
      const policy = String(headers['content-security-policy'])
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toMatch(/script-src[^;]*unsafe/)
      expect(headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
      })
      expect(headers['access-control-allow-origin']).toBeUndefined()
    }
  })

  it('of a page of the log has them, too', async () => {
    const person = new Api(gateway)
    const id = await person.session()
    const { headers } = await person.get(`/api/sessions/${id}/events`, { accept: 'application/json' })
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    expect(headers['cache-control']).toContain('no-store')
  })
})
