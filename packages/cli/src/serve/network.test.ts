import { gatewayConfig } from '@askback/gateway'
import { describe, expect, it } from 'vitest'
import { networkOptions } from './network.js'

const everywhere = { host: '0.0.0.0' }
const here = { host: '127.0.0.1' }
const config = gatewayConfig.parse({})

describe('an address that others can reach', () => {
  it('may be served without TLS where a proxy is named, and then to that proxy only', () => {
    const flags = { ...everywhere, 'trust-proxy': ['10.0.0.1'] }
    expect(networkOptions(flags, config, {})).toEqual({
      tls: null,
      trustProxy: ['10.0.0.1'],
      requireProxy: true,
    })
  })

  it.each([
    ['a flag', { insecure: true }, config],
    ['the settings', {}, gatewayConfig.parse({ insecure: true })],
  ])('is served to everybody in plain HTTP where %s says so', (_, flag, settings) => {
    expect(networkOptions({ ...everywhere, ...flag }, settings, {})).toMatchObject({ requireProxy: false })
  })

  it('is refused without any of these', () => {
    expect(() => networkOptions(everywhere, config, {})).toThrow(/^Without TLS/)
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
    expect(networkOptions({ ...here, ...flags }, settings, variables)).toMatchObject({ trustProxy })
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
    const read = () => networkOptions({ ...here, ...flags }, settings, variables)
    expect(read).toThrow(`The file ${path} cannot be read.`)
  })
})
