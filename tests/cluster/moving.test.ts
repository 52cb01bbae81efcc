import { postgresStore } from '@askback/store-postgres'
import { startPostgres, type PostgresServer } from '@askback/store-postgres/testing'
import { sqliteStore } from '@askback/store-sqlite'
import type { Store } from '@askback/core'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newFolder } from '../e2e/http/command.js'
import { at, run, serve, sqlite } from '../e2e/http/gateways.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

it('an export of a file, imported into PostgreSQL, is the same store', async () => {
  const gateway = await serve()
  const sessionId = await gateway.session()
  const first = await gateway.open(sessionId, 'a-key')
  await gateway.call('POST', `${at(first)}/response`, { body: sqlite })
  await gateway.open(sessionId)
  const file = join(newFolder(), 'export.jsonl')
  const early = run(['export', file, '--data', gateway.data])
  expect((await early.ended).code).not.toBe(0)
  expect(early.stderr).toContain('is in use by process')
  await gateway.stop('SIGTERM')

  const exported = run(['export', file, '--data', gateway.data])
  expect([await exported.ended, exported.stderr]).toEqual([
    { code: 0, signal: null },
    expect.stringMatching(/^1 sessions/),
  ])
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
  for (let times = 0; times < 2; times++) {
    const imported = run(['import', file], { ASKBACK_STORE: server.url() })
    expect([await imported.ended, imported.stderr]).toEqual([
      { code: 0, signal: null },
      expect.stringMatching(/^1 sessions/),
    ])
  }
  const before = sqliteStore({ path: join(gateway.data, 'askback.db') })
  const after = await postgresStore({ url: server.url() })
  expect(await contents(after)).toEqual(await contents(before))
  await Promise.all([before.close(), after.close()])

  const there = await serve({ args: ['--store', server.url()] })
  const again = await there.open(sessionId, 'a-key')
  expect(again.interactionId).not.toBe('')
  const { body } = await there.call<{ interactions: unknown[] }>('GET', '/api/interactions?status=pending')
  expect(body.interactions.length).toBeGreaterThan(0)
})

it.each([
  ['nothing', '', 'the file is empty'],
  ['another file', '{"name":"shop"}\n', 'line 1: this is no export'],
  ['half a line', '{"askback":1}\n{"sessionId":', 'line 2: this is not JSON'],
  ['what are no events', '{"askback":1}\n{"sessionId":"s","events":[{}]}\n', 'line 2: these are no events'],
])('%s is refused in one sentence', async (_what, text, message) => {
  const file = join(newFolder(), 'broken.jsonl')
  writeFileSync(file, text)
  const command = run(['import', file, '--data', newFolder()])
  expect((await command.ended).code).not.toBe(0)
  expect(command.stderr).toContain(message)
  expect(command.stderr.trimEnd().split('\n')).toHaveLength(1)
})

async function contents(store: Store) {
  const changes = await store.changes({ limit: Infinity })
  const ids = (await store.sessions({ limit: Infinity })).items.map(({ id }) => id)
  return {
    changes: changes.map(({ sessionId, events }) => ({ sessionId, events })),
    sessions: await store.sessions({ limit: Infinity }),
    pending: (await store.pending({ limit: Infinity })).items,
    audit: (await store.audit({ limit: Infinity })).items,
    logs: await Promise.all(ids.map((sessionId) => store.read({ sessionId, limit: Infinity }))),
    keys: (await store.kv.list('')).map(({ key, value }) => [key, value]),
  }
}
