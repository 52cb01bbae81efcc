import { answer, ask, deliver, SessionScript, text, toolCall, toolResult } from '@askback/core/testing'
import Database from 'libsql'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkDatabase } from './deep-check.js'
import { sqliteStore } from './sqlite-store.js'
import { copyAsKilled, testFolder } from './testing/files.js'

let work: ReturnType<typeof testFolder>
let path: string

beforeEach(async () => {
  work = testFolder()
  path = join(work.path, 'askback.db')
  const store = sqliteStore({ path })
  for (const id of ['a', 'b']) {
    const script = new SessionScript(id)
    await store.append({ ...script.start({ title: 'Title' }), kv: [{ key: `session/${id}/k`, value: 1 }] })
    await store.append(script.next(toolCall('call'), ...ask(`${id}-open`), ...ask(`${id}-done`)))
    await store.append(script.next(...answer(`${id}-done`, { message: 'because' }), deliver(`${id}-done`)))
    await store.append(script.next(text('a long word'), toolResult('call')))
    await store.saveSnapshot(id, { seq: 3, version: 1, state: {} })
  }
  await store.append(new SessionScript('gone').start())
  await store.erase('gone')
  await store.close()
})
afterEach(() => work.remove())

function findings(at = path): string[] {
  const found: string[] = []
  checkDatabase(at, (finding) => found.push(finding))
  return found
}

function change(sql: string): void {
  const raw = new Database(path)
  raw.exec(sql)
  raw.close()
}

describe('a complete database', () => {
  it('has no findings and is not changed', async () => {
    const before = readFileSync(path)
    const found: string[] = []
    const counts = checkDatabase(path, (finding) => found.push(finding))
    expect(found).toEqual([])
    expect(counts).toMatchObject({ sessions: 2, pending: 2 })
    const store = sqliteStore({ path })
    expect(await store.countSessions()).toBe(2)
    await store.close()
    expect(readFileSync(path).length).toBe(before.length)
  })

  it('has no findings after its process was killed either', async () => {
    const store = sqliteStore({ path })
    await store.append(new SessionScript('c').start())
    expect(findings(copyAsKilled(path, `${path}-killed.db`))).toEqual([])
    await store.close()
  })
})

it.each([
  [
    'a gap',
    "DELETE FROM log WHERE session = (SELECT key FROM sessions WHERE id = 'a') AND last_seq = 6",
    /gap before seq/,
  ],
  [
    'a log that does not begin',
    "DELETE FROM log WHERE first_seq = 1 AND session = (SELECT key FROM sessions WHERE id = 'a')",
    /session a has a gap before seq 2/,
  ],
  [
    'a changed text',
    "UPDATE log SET body = replace(body, 'long', 'l0ng') WHERE body LIKE '%long%'",
    /session a does not match its checksum/,
  ],
  ['text that is no JSON', "UPDATE log SET body = '[{', sum = NULL WHERE body LIKE '%long%'", /is not JSON/],
  [
    'a wrong pending index',
    "UPDATE interactions SET pending = 0 WHERE id = 'a-open'",
    /index of the session a has a-open as settled, its log as pending/,
  ],
  [
    'a missing index row',
    "DELETE FROM interactions WHERE id = 'a-done'",
    /index of the session a lacks the interaction a-done/,
  ],
  [
    'an index row too many',
    "INSERT INTO interactions (id, session, tool_call_id, request, pending) SELECT 'x', key, 't', 1, 1 FROM sessions WHERE id = 'a'",
    /index of the session a has the interaction x, which its log has not/,
  ],
  [
    'an index with a wrong position',
    "UPDATE interactions SET response = response + 1 WHERE id = 'a-done'",
    /names the wrong position for the interaction a-done/,
  ],
  ['a wrong tool call', "UPDATE tool_calls SET ended = 0 WHERE id = 'call'", /tool call call/],
  [
    'a wrong status',
    "UPDATE sessions SET status = 'failed' WHERE id = 'a'",
    /row of the session a does not agree with its log/,
  ],
  ['a lost decision', 'DELETE FROM audit', /audit lacks the decision on a-done/],
  [
    'a key that is no JSON',
    "UPDATE kv SET value = '{' WHERE key = 'session/a/k'",
    /key session\/a\/k is not JSON/,
  ],
  [
    'a snapshot ahead of its log',
    'UPDATE snapshots SET seq = 99',
    /snapshot of the session a is ahead of its log/,
  ],
  ['a log without a session', "DELETE FROM sessions WHERE id = 'a'", /rows in log belong to no session/],
  [
    'positions that could be used twice',
    "UPDATE meta SET value = 1 WHERE key = 'reserved'",
    /could be allocated again/,
  ],
])('finds %s', (_what, sql, finding) => {
  change(sql)
  expect(findings()).toContainEqual(expect.stringMatching(finding))
})

it('finds an event twice', () => {
  change(`UPDATE log SET sum = NULL, body = replace(body, (SELECT json_extract(body, '$[0].id') FROM log
    WHERE first_seq = 2 LIMIT 1), (SELECT json_extract(body, '$[0].id') FROM log WHERE first_seq = 1 LIMIT 1))`)
  expect(findings()).toContainEqual(expect.stringMatching(/session a has the event .* twice/))
})

it('finds damaged pages', () => {
  const bytes = readFileSync(path)
  bytes.fill(0xff, bytes.length - 4096)
  writeFileSync(path, bytes)
  expect(findings().length).toBeGreaterThan(0)
})

it('finds that acknowledged writes are missing, and continues', async () => {
  const store = sqliteStore({ path })
  await store.append(new SessionScript('c').start())
  const copy = copyAsKilled(path, `${path}-killed.db`)
  await store.close()
  truncateSync(`${copy}-wal`, 0)
  expect(findings(copy)).toEqual([expect.stringMatching(/lacks writes that were acknowledged/)])
})

it('fails for a database that is in use', async () => {
  const store = sqliteStore({ path })
  expect(() => findings()).toThrow('is in use by this process already')
  await store.close()
})
