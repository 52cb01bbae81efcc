import { postgresStore } from '@askback/store-postgres'
import { startPostgres, type PostgresServer } from '@askback/store-postgres/testing'
import { sqliteStore } from '@askback/store-sqlite'
import type { Store } from '@askback/core'
import type { Json } from '@askback/protocol'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newFolder } from '../e2e/http/command.js'
import { at, run, serve, sqlite } from '../e2e/http/gateways.js'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

it('a data folder is the same after it was moved to PostgreSQL and back', async () => {
  const gateway = await serve()
  const { token, agentToken } = gateway.ready
  const sessionId = await gateway.session()
  await gateway.call('POST', `${at(await gateway.open(sessionId, 'a-key'))}/response`, { body: sqlite })
  // Its audit rows stay, between those of other sessions.
  const erased = await gateway.session()
  await gateway.call('POST', `${at(await gateway.open(erased))}/response`, { body: sqlite })
  expect((await gateway.call('DELETE', `/api/sessions/${erased}`)).status).toBeLessThan(300)
  await gateway.call('POST', `${at(await gateway.open(sessionId))}/response`, { body: sqlite })
  await gateway.open(sessionId)
  const mode = await gateway.call('POST', `/api/sessions/${sessionId}/permission-mode`, {
    body: { mode: 'plan' },
  })
  expect(mode.status).toBe(202)
  const made = await gateway.call('POST', '/api/tokens', { body: { person: 'ada' } })
  expect(made.status).toBe(201)

  const file = join(newFolder(), 'export.jsonl')
  const early = run(['export', file, '--data', gateway.data])
  expect((await early.ended).code).not.toBe(0)
  expect(early.stderr).toContain('is in use by process')
  await gateway.stop('SIGTERM')

  const bare = join(newFolder(), 'bare.jsonl')
  await expectSuccess(['export', bare, '--data', gateway.data])
  expect(readFileSync(bare, 'utf8')).not.toMatch(/askback_person|askback_agents|credential\/(?!person\/)/)
  expect(readFileSync(bare, 'utf8')).toContain('credential/person/')
  await expectSuccess(['export', file, '--with-credentials', '--data', gateway.data])
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
  // Twice, as after an import that was interrupted.
  for (let times = 0; times < 2; times++)
    await expectSuccess(['import', file], { ASKBACK_STORE: server.url() })
  const before = sqliteStore({ path: join(gateway.data, 'askback.db') })
  const between = await postgresStore({ url: server.url() })
  const all = await contents(before)
  expect(all.audit.map((row) => ('act' in row ? row.act : row.sessionId))).toEqual([
    sessionId,
    erased,
    'session_deleted',
    sessionId,
    'permission_mode',
    'token_created',
  ])
  const moved = await contents(between)
  expect({ ...moved, keys: ownKeys(moved.keys) }).toEqual(all)
  expect(JSON.stringify(moved)).not.toContain(token)

  const [second, third] = [join(newFolder(), 'second.jsonl'), join(newFolder(), 'third.jsonl')]
  await expectSuccess(['export', second, '--with-credentials', '--store', server.url()])
  const back = newFolder()
  for (let times = 0; times < 2; times++) await expectSuccess(['import', second, '--data', back])
  const after = sqliteStore({ path: join(back, 'askback.db') })
  const returned = await contents(after)
  expect({ ...returned, keys: ownKeys(returned.keys) }).toEqual(all)
  await Promise.all([before.close(), between.close(), after.close()])
  await expectSuccess(['export', third, '--with-credentials', '--data', back])
  for (const copy of [second, third]) expect(lines(copy)).toEqual(lines(file))
  expect(readFileSync(second, 'utf8')).not.toContain(token)

  const there = await serve({ args: ['--store', server.url()] })
  const here = await serve({ data: back })
  for (const one of [there, here]) {
    const { body } = await one.call<{ interactions: unknown[] }>('GET', '/api/interactions?status=pending')
    expect(body.interactions).toHaveLength(1)
  }
  // The database has the hashes of the moved tokens, so a gateway on it accepts them.
  expect((await there.call('GET', '/api/sessions', { as: token })).status).toBe(200)
  expect((await there.call('POST', '/api/sessions', { as: agentToken, body: { agent: null } })).status).toBe(
    201,
  )
})

it('an import does not change existing tokens, and rejects another log of an existing session', async () => {
  const [one, other] = [await serve(), await serve()]
  for (const gateway of [one, other]) {
    const as = gateway.ready.agentToken
    await gateway.call('POST', '/api/sessions', { body: { agent: null }, as })
    await gateway.stop('SIGTERM')
  }
  const file = join(newFolder(), 'one.jsonl')
  await expectSuccess(['export', file, '--with-credentials', '--data', one.data])
  await expectSuccess(['import', file, '--data', other.data])
  const again = await serve({ data: other.data })
  expect(again.ready.token).toBe(other.ready.token)
  expect((await again.call<{ sessions: unknown[] }>('GET', '/api/sessions')).body.sessions).toHaveLength(2)
  await again.stop('SIGTERM')
  const [head, log = ''] = readFileSync(file, 'utf8').split('\n')
  const made = JSON.parse(log) as { events: { id: string }[] }
  made.events[0]!.id = 'another'
  writeFileSync(file, `${head}\n${JSON.stringify(made)}\n`)
  const rejected = run(['import', file, '--data', other.data])
  expect((await rejected.ended).code).not.toBe(0)
  expect(rejected.stderr).toMatch(/^The import stopped at line 2: .* is there already, with another log\.\n$/)
})

it.each([
  ['nothing', '', 'the file is empty'],
  ['another file', '{"name":"shop"}\n', 'line 1: this is no export'],
  ['half a line', '{"askback":1}\n{"sessionId":', 'line 2: this is not JSON'],
  ['what is no audit', '{"askback":2}\n{"audit":{"at":1}}\n', 'line 2: this is no line of an audit'],
  ['a newer export', '{"askback":4}\n', 'line 1: this is no export of Askback, or one of a newer version'],
  ['what are no events', '{"askback":1}\n{"sessionId":"s","events":[{}]}\n', 'line 2: these are no events'],
])('%s is rejected in one sentence', async (_what, text, message) => {
  const file = join(newFolder(), 'broken.jsonl')
  writeFileSync(file, text)
  const command = run(['import', file, '--data', newFolder()])
  expect((await command.ended).code).not.toBe(0)
  expect(command.stderr).toContain(message)
  expect(command.stderr.trimEnd().split('\n')).toHaveLength(1)
})

async function expectSuccess(args: string[], env?: Record<string, string>): Promise<void> {
  const command = run(args, env)
  expect([await command.ended, command.stderr]).toEqual([
    { code: 0, signal: null },
    expect.stringMatching(/^\d sessions, \d+ events, \d+ keys\.\n$/),
  ])
}

/** Without the gateway's own tokens, which are in a file beside SQLite and as hashes in PostgreSQL. */
function lines(file: string): string[] {
  const all = readFileSync(file, 'utf8').split('\n')
  return all.filter((line) => !/^\{"key":"(tokens|credential\/gateway\/)/.test(line)).toSorted()
}

function ownKeys(keys: [string, Json][]): [string, Json][] {
  return keys.filter(([key]) => !key.startsWith('credential/gateway/'))
}

async function contents(store: Store) {
  const changes = await store.changes({ limit: Infinity })
  const ids = (await store.sessions({ limit: Infinity })).items.map(({ id }) => id)
  return {
    changes: changes.map(({ sessionId, events }) => ({ sessionId, events })),
    sessions: await store.sessions({ limit: Infinity }),
    pending: (await store.pending({ limit: Infinity })).items,
    audit: (await store.audit({ limit: Infinity })).items,
    logs: await Promise.all(ids.map((sessionId) => store.read({ sessionId, limit: Infinity }))),
    keys: (await store.kv.list('')).map(({ key, value }): [string, Json] => [key, value]),
  }
}
