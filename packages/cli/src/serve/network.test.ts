import { gatewayConfig } from '@askback/gateway'
import { describe, expect, it } from 'vitest'
import { hostNamesOf, isLoopback, networkOptions } from './network.js'

const everyAddress = { host: '0.0.0.0' }
const loopback = { host: '127.0.0.1' }
const config = gatewayConfig.parse({})

describe('an address that others can reach', () => {
  it('may be served without TLS if a proxy is named, and then to that proxy only', () => {
    const flags = { ...everyAddress, 'trust-proxy': ['10.0.0.1'] }
    expect(networkOptions(flags, config, {})).toEqual({
      tls: null,
      trustProxy: ['10.0.0.1'],
      requireProxy: true,
    })
  })

  it.each([
    ['a flag', { insecure: true }, config],
    ['the settings', {}, gatewayConfig.parse({ insecure: true })],
  ])('is served to everybody over plain HTTP if %s allows it', (_, flag, settings) => {
    expect(networkOptions({ ...everyAddress, ...flag }, settings, {})).toMatchObject({ requireProxy: false })
  })

  it('is refused without any of these', () => {
    expect(() => networkOptions(everyAddress, config, {})).toThrow(/^Without TLS/)
  })
})

describe('the proxies come', () => {
  const settings = gatewayConfig.parse({ trustProxy: ['10.0.0.3'] })
  const env = { ASKBACK_TRUST_PROXY: '10.0.0.2, 10.1.0.0/16' }

  it.each([
    ['from the flags, before all else', { 'trust-proxy': ['10.0.0.1'] }, env, ['10.0.0.1']],
    ['from the environment, before the settings', {}, env, ['10.0.0.2', '10.1.0.0/16']],
    ['from the settings', {}, {}, ['10.0.0.3']],
  ])('%s', (_, flags, variables, trustProxy) => {
    expect(networkOptions({ ...loopback, ...flags }, settings, variables)).toMatchObject({ trustProxy })
  })
})

describe('the certificate comes', () => {
  const settings = gatewayConfig.parse({ tls: { cert: '/of-settings', key: '/of-settings' } })
  const env = { ASKBACK_TLS_CERT: '/of-environment', ASKBACK_TLS_KEY: '/of-environment' }

  it.each([
    [
      'from the flags, before all else',
      { 'tls-cert': '/of-flags', 'tls-key': '/of-flags' },
      env,
      '/of-flags',
    ],
    ['from the environment, before the settings', {}, env, '/of-environment'],
    ['from the settings', {}, {}, '/of-settings'],
  ])('%s', (_, flags, variables, path) => {
    const read = () => networkOptions({ ...loopback, ...flags }, settings, variables)
    expect(read).toThrow(`The file ${path} cannot be read.`)
  })
})

it.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost'])('%s is reachable from this machine only', (host) => {
  expect(isLoopback(host)).toBe(true)
})

it.each(['0.0.0.0', '::', '192.168.1.1', 'example.com', '127.0.0.1.example.com', ''])(
  '%j may be reachable from other machines',
  (host) => {
    expect(isLoopback(host)).toBe(false)
  },
)

it('names the hosts under which a gateway is reachable', () => {
  expect(hostNamesOf('192.168.1.5')).toEqual(['192.168.1.5'])
  expect(hostNamesOf('fe80::1')).toEqual(['[fe80::1]'])
  expect(hostNamesOf('0.0.0.0')).toContain('127.0.0.1')
})
