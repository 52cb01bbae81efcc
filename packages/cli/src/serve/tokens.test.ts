import { memoryStore } from '@askback/core'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { isLoopback, namesOf } from './addresses.js'
import { serveTokens, takeTokensOutOf, TOKENS_KEY } from './tokens.js'

let dataFolder: string
beforeEach(() => {
  dataFolder = mkdtempSync(join(tmpdir(), 'askback-tokens-'))
})
afterEach(() => rmSync(dataFolder, { recursive: true }))

const file = () => join(dataFolder, 'tokens.json')
const given = { ASKBACK_TOKEN: 'person', ASKBACK_AGENT_TOKEN: 'agents' }
const tokens = (env: Record<string, string> = {}, host = '127.0.0.1') =>
  serveTokens({ dataFolder, host }, env)

it('are made once, and kept for their owner only', () => {
  const made = tokens()
  expect(tokens()).toEqual(made)
  expect((statSync(file()).mode & 0o777).toString(8)).toBe('600')
})

it('come from the environment where it has them, which is not written down', () => {
  expect(tokens(given)).toEqual({ token: 'person', agentToken: 'agents' })
  expect(() => readFileSync(file())).toThrow('ENOENT')
  const half = tokens({ ASKBACK_TOKEN: 'person' })
  expect(half.token).toBe('person')
  expect(readFileSync(file(), 'utf8')).not.toContain('"person"')
  expect(tokens({ ASKBACK_TOKEN: 'person' })).toEqual(half)
})

it('must be there before others can reach the gateway', () => {
  expect(() => tokens({}, '0.0.0.0')).toThrow('set ASKBACK_TOKEN')
  expect(tokens(given, '0.0.0.0')).toEqual({ token: 'person', agentToken: 'agents' })
  const made = tokens()
  expect(tokens({}, '0.0.0.0')).toEqual(made)
})

it('are not the same for people and agents', () => {
  expect(() => tokens({ ASKBACK_TOKEN: 'x', ASKBACK_AGENT_TOKEN: 'x' })).toThrow('are the same')
})

it('that cannot be read are not made anew', () => {
  writeFileSync(file(), '{"token":')
  expect(() => tokens()).toThrow(/tokens\.json is damaged/)
})

it('that a shared store holds as they are move into the folder of the first gateway that starts', async () => {
  const store = memoryStore()
  const old = { token: 'askback_person_old', agentToken: 'askback_agents_old' }
  await store.kv.put(TOKENS_KEY, old, null)
  await takeTokensOutOf(store, dataFolder)
  expect(await store.kv.get(TOKENS_KEY)).toBeNull()
  expect(tokens()).toEqual(old)
  expect((statSync(file()).mode & 0o777).toString(8)).toBe('600')
})

it('that a shared store holds are removed from it, and do not replace those of the folder', async () => {
  const store = memoryStore()
  const own = tokens()
  await store.kv.put(TOKENS_KEY, { token: 'a', agentToken: 'b' }, null)
  await takeTokensOutOf(store, dataFolder)
  expect(await store.kv.get(TOKENS_KEY)).toBeNull()
  expect(tokens()).toEqual(own)
})

it.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost'])('%s is this machine', (host) => {
  expect(isLoopback(host)).toBe(true)
})

it.each(['0.0.0.0', '::', '192.168.1.1', 'example.com', '127.0.0.1.example.com', ''])(
  '%j is not only this machine',
  (host) => {
    expect(isLoopback(host)).toBe(false)
  },
)

it('names what a gateway can be reached under', () => {
  expect(namesOf('192.168.1.5')).toEqual(['192.168.1.5'])
  expect(namesOf('fe80::1')).toEqual(['[fe80::1]'])
  expect(namesOf('0.0.0.0')).toContain('127.0.0.1')
})
