import { memoryStore } from '@askback/core'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { serveTokens, moveTokensOutOf, TOKENS_KEY } from './tokens.js'

let dataFolder: string
beforeEach(() => {
  dataFolder = mkdtempSync(join(tmpdir(), 'askback-tokens-'))
})
afterEach(() => rmSync(dataFolder, { recursive: true }))

const file = () => join(dataFolder, 'tokens.json')
const given = { ASKBACK_TOKEN: 'person', ASKBACK_AGENT_TOKEN: 'agents' }
const tokens = (env: Record<string, string> = {}, host = '127.0.0.1') =>
  serveTokens({ dataFolder, host }, env)

it('makes tokens once, in a file that only its owner can read', () => {
  const made = tokens()
  expect(tokens()).toEqual(made)
  expect((statSync(file()).mode & 0o777).toString(8)).toBe('600')
})

it('uses the tokens of the environment, and does not write them to the file', () => {
  expect(tokens(given)).toEqual({ token: 'person', agentToken: 'agents' })
  expect(() => readFileSync(file())).toThrow('ENOENT')
  const half = tokens({ ASKBACK_TOKEN: 'person' })
  expect(half.token).toBe('person')
  expect(readFileSync(file(), 'utf8')).not.toContain('"person"')
  expect(tokens({ ASKBACK_TOKEN: 'person' })).toEqual(half)
})

it('requires tokens before others can reach the gateway', () => {
  expect(() => tokens({}, '0.0.0.0')).toThrow('set ASKBACK_TOKEN')
  expect(tokens(given, '0.0.0.0')).toEqual({ token: 'person', agentToken: 'agents' })
  const made = tokens()
  expect(tokens({}, '0.0.0.0')).toEqual(made)
})

it('refuses the same token for people and agents', () => {
  expect(() => tokens({ ASKBACK_TOKEN: 'x', ASKBACK_AGENT_TOKEN: 'x' })).toThrow('are the same')
})

it('does not replace a damaged file', () => {
  writeFileSync(file(), '{"token":')
  expect(() => tokens()).toThrow(/tokens\.json is damaged/)
})

it('moves plain tokens of a shared store into the folder of the first gateway that starts', async () => {
  const store = memoryStore()
  const old = { token: 'askback_person_old', agentToken: 'askback_agents_old' }
  await store.kv.put(TOKENS_KEY, old, null)
  await moveTokensOutOf(store, dataFolder)
  expect(await store.kv.get(TOKENS_KEY)).toBeNull()
  expect(tokens()).toEqual(old)
  expect((statSync(file()).mode & 0o777).toString(8)).toBe('600')
})

it('removes plain tokens from a shared store, and keeps those of the folder', async () => {
  const store = memoryStore()
  const own = tokens()
  await store.kv.put(TOKENS_KEY, { token: 'a', agentToken: 'b' }, null)
  await moveTokensOutOf(store, dataFolder)
  expect(await store.kv.get(TOKENS_KEY)).toBeNull()
  expect(tokens()).toEqual(own)
})
