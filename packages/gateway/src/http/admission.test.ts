import { describe, expect, it } from 'vitest'
import { gatewayConfig } from '../config.js'
import { createOriginGuard } from './admission.js'

const check = createOriginGuard({
  hosts: ['askback.example', '192.168.1.5'],
  origins: ['https://ide.example'],
})
const refusing =
  (method: string, headers: Record<string, string>, upgrade = false) =>
  () =>
    check(method, headers, upgrade)

describe('Host', () => {
  it.each([
    'localhost',
    'localhost:4100',
    '127.0.0.1:1',
    '[::1]:80',
    'LOCALHOST',
    'askback.example',
    '192.168.1.5:9',
  ])('accepts %s', (host) => expect(refusing('GET', { host })).not.toThrow())

  it.each([
    'evil.example',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    'localhost:x',
    'a@localhost',
    '',
  ])('refuses %j', (host) =>
    expect(refusing('GET', { host })).toThrow(expect.objectContaining({ code: 'forbidden' })),
  )

  it('refuses a request without one', () => {
    expect(refusing('GET', {})).toThrow(expect.objectContaining({ code: 'forbidden' }))
  })
})

describe('Origin', () => {
  const host = 'localhost:4100'

  it.each(['http://localhost:4100', 'http://127.0.0.1:4100', 'https://ide.example'])('accepts %s', (origin) =>
    expect(refusing('POST', { host, origin })).not.toThrow(),
  )

  it('accepts its own behind a proxy that terminates TLS', () => {
    expect(refusing('POST', { host: 'askback.example', origin: 'https://askback.example' })).not.toThrow()
  })

  it.each([
    'http://localhost:3000',
    'http://localhost',
    'http://evil.example:4100',
    'http://ide.example',
    'https://ide.example.evil.example',
    'null',
    'file://',
    'nonsense',
  ])('refuses %s, on reads as on writes', (origin) => {
    for (const method of ['GET', 'POST'])
      expect(refusing(method, { host, origin })).toThrow(expect.objectContaining({ code: 'forbidden' }))
  })

  it('is refused if it equals a Host that is not allowed', () => {
    const rebound = { host: 'evil.example:4100', origin: 'http://evil.example:4100' }
    expect(refusing('POST', rebound)).toThrow(expect.objectContaining({ code: 'forbidden' }))
  })
})

describe('Sec-Fetch-Site', () => {
  const host = 'localhost:4100'

  it.each(['cross-site', 'same-site', 'anything'])(
    '%s may read and follow links, and write nothing',
    (site) => {
      const headers = { host, 'sec-fetch-site': site }
      expect(refusing('GET', headers)).not.toThrow()
      for (const method of ['POST', 'DELETE'])
        expect(refusing(method, headers)).toThrow(expect.objectContaining({ code: 'forbidden' }))
      expect(refusing('GET', headers, true)).toThrow(expect.objectContaining({ code: 'forbidden' }))
    },
  )

  it.each(['same-origin', 'none'])('%s may', (site) => {
    expect(refusing('POST', { host, 'sec-fetch-site': site })).not.toThrow()
  })

  it('of an allowed origin may', () => {
    const headers = { host, origin: 'https://ide.example', 'sec-fetch-site': 'cross-site' }
    expect(refusing('POST', headers)).not.toThrow()
  })
})

describe('an allowed origin of an app with a scheme of its own', () => {
  const guard = createOriginGuard({ hosts: [], origins: ['app://obsidian.md', 'https://ide.example'] })
  const page = (origin: string) => () =>
    guard('POST', { host: '127.0.0.1:4100', origin, 'sec-fetch-site': 'cross-site' }, false)

  it('is that origin, and not "null", which every sandboxed frame sends', () => {
    expect(page('app://obsidian.md')()).toBe('allowed')
    for (const other of [
      'null',
      'app://evil.md',
      'app://obsidian.md.evil',
      'app://127.0.0.1:4100',
      'file://',
      'https://ide.example.evil',
      'https://evil-ide.example',
      'http://ide.example',
      'https://ide.example:8443',
      'HTTPS://IDE.EXAMPLE.',
    ])
      expect(page(other)).toThrow('may not')
  })

  it.each(['file:///a', 'data:text/plain,x', 'null', 'blob:null/1', 'ide.example'])(
    'must be an origin: %s is refused in the settings',
    (origin) => expect(gatewayConfig.safeParse({ allowedOrigins: [origin] }).success).toBe(false),
  )
})
