import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { startTestGateway } from '../testing/index.js'
import { createTrustedProxies } from './trusted-proxy.js'

const from = (remoteAddress: string, headers: Record<string, string> = {}, encrypted = false) =>
  ({ headers, socket: { remoteAddress, encrypted } }) as unknown as IncomingMessage

const proxies = createTrustedProxies(['10.0.0.1', '192.168.0.0/16', 'fd00::/8'])

describe('the address of a caller', () => {
  it.each([
    ['nobody is forwarded', '10.0.0.1', undefined, '10.0.0.1'],
    ['a proxy forwards', '10.0.0.1', '1.2.3.4', '1.2.3.4'],
    ['a proxy on IPv6 forwards', 'fd00::1', '2001:db8::1', '2001:db8::1'],
    ['a proxy is seen as a mapped address', '::ffff:10.0.0.1', '1.2.3.4', '1.2.3.4'],
    ['a caller claims to be somebody else', '10.0.0.1', '127.0.0.1, 1.2.3.4', '1.2.3.4'],
    ['two proxies forward', '10.0.0.1', '1.2.3.4, 192.168.7.7', '1.2.3.4'],
    ['all are proxies', '10.0.0.1', '192.168.7.7', '192.168.7.7'],
    ['a proxy sends nonsense', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['a stranger pretends to be a proxy', '1.2.3.4', '127.0.0.1', '1.2.3.4'],
  ])('if %s', (_, peer, forwarded, address) => {
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
    expect(proxies.addressOf(from(peer, headers))).toBe(address)
  })

  it('is that of the connection if no proxy is trusted', () => {
    expect(createTrustedProxies([]).addressOf(from('10.0.0.1', { 'x-forwarded-for': '1.2.3.4' }))).toBe(
      '10.0.0.1',
    )
  })
})

describe('a request is secure', () => {
  it('over its own TLS', () => {
    expect(proxies.isSecure(from('1.2.3.4', {}, true))).toBe(true)
    expect(proxies.isSecure(from('1.2.3.4'))).toBe(false)
  })

  it.each([
    ['10.0.0.1', 'https', true],
    ['10.0.0.1', 'http', false],
    // The proxy appends to what the caller sent.
    ['10.0.0.1', 'https, http', false],
    ['1.2.3.4', 'https', false],
  ])('by the header of a trusted proxy only: %s says %s', (peer, proto, isSecure) => {
    expect(proxies.isSecure(from(peer, { 'x-forwarded-proto': proto }))).toBe(isSecure)
  })
})

it.each(['', 'proxy.example', '10.0.0.0/33', '10.0.0.0/x', 'true', '10.0.0.1/'])(
  'takes no %j for a proxy',
  (address) => {
    expect(() => createTrustedProxies([address])).toThrow('is no IP address')
  },
)

describe('a gateway without TLS that others reach through a proxy', () => {
  it('refuses requests that bypass the proxy on every route, except from this machine', async () => {
    const made = await startTestGateway({
      listen: false,
      config: { trustProxy: ['10.0.0.1'] },
      requireProxy: true,
    })
    const reach = async (remoteAddress: string, url: string) =>
      (await made.gateway.app.inject({ url, remoteAddress, headers: { host: 'localhost' } })).statusCode
    for (const url of ['/healthz', '/', '/login', '/api/sessions', '/api/events'])
      expect({ url, status: await reach('1.2.3.4', url) }).toEqual({ url, status: 403 })
    expect(await reach('10.0.0.1', '/healthz')).toBe(200)
    expect(await reach('127.0.0.1', '/healthz')).toBe(200)
    expect(await reach('::1', '/healthz')).toBe(200)
    await made.close()
  })

  it('counts failed logins by the address that the proxy names', async () => {
    const made = await startTestGateway({ listen: false, config: { trustProxy: ['10.0.0.1'] } })
    const wrong = async (caller: string) => {
      const headers = { host: 'localhost', authorization: 'Bearer wrong', 'x-forwarded-for': caller }
      return (await made.gateway.app.inject({ url: '/api/sessions', remoteAddress: '10.0.0.1', headers }))
        .statusCode
    }
    for (let count = 0; count < 20; count++) expect(await wrong('1.2.3.4')).toBe(401)
    expect(await wrong('1.2.3.4')).toBe(429)
    expect(await wrong('1.2.3.5')).toBe(401)
    await made.close()
  })
})
