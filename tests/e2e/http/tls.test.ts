import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readFileSync } from 'node:fs'
import { request as plainRequest, type IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { newFolder, type Ready } from './command.js'
import { run, serve } from './gateways.js'

const tokens = { ASKBACK_TOKEN: 'a-persons-token', ASKBACK_AGENT_TOKEN: 'an-agents-token' }
let cert: string
let key: string
beforeAll(() => {
  const folder = newFolder()
  ;[cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const names = 'subjectAltName=DNS:localhost,DNS:askback.example,IP:127.0.0.1'
  const args = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
  ]
  execFileSync('openssl', [...args, '-subj', '/CN=askback', '-addext', names, '-keyout', key, '-out', cert], {
    stdio: 'ignore',
  })
  chmodSync(key, 0o600)
})

/** The address of this machine on the network. */
const ownAddress = Object.values(networkInterfaces())
  .flatMap((each) => each ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

const withTls = () => ['--tls-cert', cert, '--tls-key', key]

interface Answer {
  status: number
  headers: IncomingMessage['headers']
  text: string
}

async function send(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: unknown } = {},
): Promise<Answer> {
  const { method = 'GET', headers = {}, body } = options
  const payload = body === undefined ? undefined : JSON.stringify(body)
  const type = payload === undefined ? {} : { 'content-type': 'application/json' }
  const start = url.startsWith('https:') ? request : plainRequest
  const sent = start(url, { method, headers: { ...type, ...headers }, ca: readFileSync(cert), agent: false })
  sent.end(payload)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  return { status: response.statusCode ?? 0, headers: response.headers, text }
}

const logIn = ({ url, openUrl }: Ready, headers: Record<string, string> = {}) =>
  send(`${url}/api/login`, {
    method: 'POST',
    headers,
    body: { code: new URL(openUrl).searchParams.get('code') },
  })

describe('with a certificate', () => {
  it('the page, the API, streams and sockets use TLS, with Secure cookies', async () => {
    const { ready } = await serve({ args: withTls() })
    expect(ready.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    expect(ready.openUrl.startsWith(`${ready.url}/login?code=`)).toBe(true)
    const { status, headers, text } = await logIn(ready)
    expect(status).toBe(200)
    const [setCookie = ''] = headers['set-cookie'] ?? []
    expect(setCookie).toMatch(/; Secure$/)
    const { proof } = JSON.parse(text) as { proof: string }
    const cookie = setCookie.split(';', 1)[0]!
    const origin = ready.url
    const listed = await send(`${ready.url}/api/sessions`, {
      headers: { cookie, 'askback-proof': proof, origin },
    })
    expect(listed.status).toBe(200)

    const socket = new WebSocket(`${ready.url.replace('http', 'ws')}/api/ws`, {
      headers: { cookie, origin },
      ca: readFileSync(cert),
    })
    await once(socket, 'open')
    socket.send(JSON.stringify({ op: 'hello', ref: 1, proof }))
    const [data] = (await once(socket, 'message')) as [Buffer]
    expect(JSON.parse(data.toString())).toEqual({ ref: 1, ok: true })
    socket.terminate()

    // Some clients offer HTTP/2 with every request, and accept an ordinary response.
    const offer = {
      connection: 'Upgrade, HTTP2-Settings',
      upgrade: 'h2c',
      'http2-settings': 'AAMAAABkAAQAoAAAAAIAAAAA',
    }
    expect((await send(`${ready.url}/healthz`, { headers: offer })).status).toBe(200)
  })

  it('the command reaches it if the certificate is trusted', async () => {
    const { data } = await serve({ args: withTls() })
    const trusting = run(['open', '--print', '--data', data], { NODE_EXTRA_CA_CERTS: cert })
    expect((await trusting.ended).code).toBe(0)
    expect(trusting.stdout).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/login\?code=/)
    const other = run(['open', '--print', '--data', data])
    expect((await other.ended).code).not.toBe(0)
    expect(other.stderr).toContain('NODE_EXTRA_CA_CERTS')
  })

  it('plain HTTP is refused, and does no harm', async () => {
    const { ready } = await serve({ args: withTls() })
    await expect(send(ready.url.replace('https', 'http'))).rejects.toThrow(/hang up|ECONNRESET|EPIPE/)
    expect((await send(`${ready.url}/healthz`)).status).toBe(200)
  })

  it('the settings and the environment may also name it', async () => {
    const { ready } = await serve({ env: { ASKBACK_TLS_CERT: cert, ASKBACK_TLS_KEY: key } })
    expect((await send(`${ready.url}/healthz`)).status).toBe(200)
  })

  it.each([
    ['one half of it', () => ['--tls-cert', cert], /^--tls-cert and --tls-key go together/],
    [
      'a missing file',
      () => ['--tls-cert', cert, '--tls-key', '/nowhere'],
      /^The file \/nowhere cannot be read/,
    ],
    [
      'another key',
      () => ['--tls-cert', cert, '--tls-key', cert],
      /^The certificate and the key cannot be used/,
    ],
  ])('%s is refused with a sentence', async (_, args, message) => {
    const command = run(['serve', '--port', '0', '--data', newFolder(), ...args()])
    expect((await command.ended).code).not.toBe(0)
    expect(command.stderr).toMatch(message)
  })

  it('a key that everybody can read is refused', async () => {
    chmodSync(key, 0o644)
    const command = run(['serve', '--port', '0', '--data', newFolder(), ...withTls()])
    expect((await command.ended).code).not.toBe(0)
    chmodSync(key, 0o600)
    expect(command.stderr).toMatch(/chmod 600/)
  })
})

describe('an address that others can reach', () => {
  it('is refused without TLS, with one sentence why', async () => {
    const command = run(['serve', '--host', '0.0.0.0', '--port', '0', '--data', newFolder()], tokens)
    expect((await command.ended).code).toBe(2)
    expect(command.stderr).toMatch(/^Without TLS .*--tls-cert.*--trust-proxy.*--insecure.*\n$/)
  })

  it('is served with TLS, or if plain HTTP is allowed explicitly', async () => {
    const host = ['--host', '0.0.0.0']
    const secure = await serve({ args: [...host, ...withTls()], env: tokens })
    expect((await send(`${secure.ready.url}/healthz`)).status).toBe(200)
    const plain = await serve({ args: [...host, '--insecure'], env: tokens })
    expect((await send(`${plain.ready.url}/healthz`)).status).toBe(200)
  })
})

describe('behind a proxy', () => {
  it('that is trusted, cookies are Secure if the browser uses TLS', async () => {
    const { ready } = await serve({ args: ['--trust-proxy', '127.0.0.1', '--allow-host', 'askback.example'] })
    const headers = {
      host: 'askback.example',
      'x-forwarded-proto': 'https',
      origin: 'https://askback.example',
    }
    const { status, headers: answered } = await logIn(ready, headers)
    expect(status).toBe(200)
    expect(answered['set-cookie']?.[0]).toMatch(/; Secure$/)
    const authorization = `Bearer ${ready.token}`
    const made = await send(`${ready.url}/api/logins`, {
      method: 'POST',
      headers: { ...headers, authorization },
    })
    expect(JSON.parse(made.text)).toMatchObject({
      openUrl: expect.stringMatching(/^https:\/\/askback\.example\/login\?code=/) as string,
    })
  })

  it('that is not trusted, its headers are ignored', async () => {
    const { ready } = await serve()
    const { headers } = await logIn(ready, { 'x-forwarded-proto': 'https' })
    expect(headers['set-cookie']?.[0]).not.toContain('Secure')
  })

  it.runIf(ownAddress)('that is trusted, requests that bypass it are refused', async () => {
    const host = ['--host', '0.0.0.0', '--trust-proxy', '10.0.0.1']
    const { ready } = await serve({ args: host, env: tokens })
    expect((await send(`${ready.url}/healthz`)).status).toBe(200)
    const around = new URL(`${ready.url}/healthz`)
    around.hostname = ownAddress!
    expect((await send(around.href)).status).toBe(403)
  })

  it('with an invalid address, the start is refused', async () => {
    const command = run(['serve', '--port', '0', '--data', newFolder(), '--trust-proxy', 'nginx'])
    expect((await command.ended).code).toBe(2)
    expect(command.stderr).toContain('"nginx" is no IP address')
  })
})
