import { expect, it } from 'vitest'
import { secretSeed } from './idempotent.js'

it('derives the seed of a repeated request from the secret that its sender sent', () => {
  const senders = [
    { authorization: 'Bearer one' },
    { authorization: 'Bearer two' },
    { cookie: 'askback=one', 'askback-proof': 'one' },
    { cookie: 'askback=one', 'askback-proof': 'two' },
  ]
  const secrets = senders.map((headers) => secretSeed(headers, 'key')?.secret)
  expect(new Set(secrets).size).toBe(senders.length)
  for (const headers of senders) {
    expect(secretSeed({ ...headers, cookie: 'askback=tossed' }, 'key')).toEqual(secretSeed(headers, 'key'))
  }
})

it('has no seed without a key, so that each request gets another secret', () => {
  expect(secretSeed({ authorization: 'Bearer one' }, undefined)).toBeUndefined()
})
