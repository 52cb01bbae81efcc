import { createDesk } from '@askback/core'
import { SessionScript, text } from '@askback/core/testing'
import Database from 'libsql'
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkCanStart, openDatabase } from './open.js'
import { acceptLoss, sqliteStore } from './sqlite-store.js'
import { copyAsKilled, testFolder } from './testing/files.js'

let work: ReturnType<typeof testFolder>
let folder: string
let path: string

beforeEach(() => {
  work = testFolder()
  folder = work.path
  path = join(folder, 'askback.db')
})
afterEach(() => work.remove())

describe('a database of an older version', () => {
  it('is migrated, and its pending interactions stay pending', async () => {
    const store = sqliteStore({ path })
    const desk = createDesk({ store })
    const { session } = await desk.createSession({ agent: null })
    const request = { questions: [{ question: 'Which?', options: [] }] }
    const { interaction } = await desk.open({ sessionId: session.id, kind: 'question', request })
    desk.close()
    await store.close()

    const raw = new Database(path)
    raw.exec(`ALTER TABLE log DROP COLUMN sum; DELETE FROM meta WHERE key <> 'reserved';
      DROP INDEX interactions_by_session; DROP INDEX interactions_pending_in;
      CREATE INDEX interactions_by_session ON interactions (session, pending, tool_call_id);
      PRAGMA user_version = 1`)
    raw.close()

    const again = sqliteStore({ path })
    const { items } = await again.pending({ sessionId: session.id, limit: 10 })
    expect(items).toEqual([interaction])
    expect(await again.interactionsOf(session.id, interaction.toolCallId)).toEqual([interaction])
    await again.close()
  })
})

it('a database of the last version that lost acknowledged writes is not migrated', async () => {
  const store = sqliteStore({ path })
  const script = new SessionScript('s')
  await store.append(script.start())
  const copy = copyAsKilled(path, join(folder, 'copy.db'))
  const raw = new Database(copy)
  raw.exec("DELETE FROM meta WHERE key = 'derived'; PRAGMA user_version = 3")
  raw.close()
  await store.append(script.next(text('acknowledged')))
  copyFileSync(`${path}-mark`, `${copy}-mark`)
  await store.close()
  expect(() => checkCanStart(copy)).toThrow('lacks writes that were acknowledged')
  expect(() => sqliteStore({ path: copy })).toThrow('lacks writes that were acknowledged')
  expect(acceptLoss(copy)).toContain('lacks writes')
  const left = sqliteStore({ path: copy })
  expect(await left.countSessions()).toBe(1)
  await left.close()
})

describe('the writing connection', () => {
  it('syncs every commit and locks the file', () => {
    const db = openDatabase(path)
    const pragma = (name: string) => db.get<[number | string]>(`PRAGMA ${name}`)()
    expect(pragma('journal_mode')).toEqual(['wal'])
    expect(pragma('synchronous')).toEqual([2])
    expect(pragma('fullfsync')).toEqual([1])
    expect(pragma('locking_mode')).toEqual(['exclusive'])
    expect(pragma('secure_delete')).toEqual([1])
    db.close()
  })

  it('creates files that only their owner can read', async () => {
    const store = sqliteStore({ path })
    await store.append(new SessionScript('s').start())
    for (const name of readdirSync(folder))
      expect([name, statSync(join(folder, name)).mode & 0o777]).toEqual([name, 0o600])
    expect(readdirSync(folder)).toContain('askback.db-wal')
    await store.close()
  })

  it('leaves one file when it closes', async () => {
    const store = sqliteStore({ path })
    await store.append(new SessionScript('s').start())
    await store.close()
    expect(readdirSync(folder)).toEqual(['askback.db'])
  })
})

describe('a database that cannot be opened', () => {
  it('is in use', async () => {
    const store = sqliteStore({ path })
    expectFailure('is in use by this process already')
    await store.append(new SessionScript('s').start())
    await store.close()
    await sqliteStore({ path }).close()
  })

  it('has a newer version', async () => {
    await createAndFill()
    const raw = new Database(path)
    raw.exec('PRAGMA user_version = 99')
    raw.close()
    expectFailure(/is of version 99, made by a newer Askback; this one knows versions up to \d+\.$/)
  })

  it('belongs to another program', () => {
    const raw = new Database(path)
    raw.exec('CREATE TABLE theirs (a)')
    raw.close()
    expectFailure('is not an Askback database')
  })

  it('is no database at all', () => {
    writeFileSync(path, 'Dear diary, '.repeat(1000))
    expectFailure('is not an Askback database')
    expect(readFileSync(path, 'utf8')).toBe('Dear diary, '.repeat(1000))
  })

  it.each([undefined, {}, { path: '' }, { path: 5 }])('has no name: %j', (options) => {
    expect(() => sqliteStore(options as never)).toThrow('A store needs the path of its database file.')
  })

  it('is in use and named by a link', async () => {
    symlinkSync(path, `${path}-link`)
    const store = sqliteStore({ path })
    expect(() => sqliteStore({ path: `${path}-link` })).toThrow(/is in use by this process already/)
    await store.close()
  })

  it('is a link that leads nowhere', () => {
    symlinkSync(`${path}-gone`, path)
    expect(() => sqliteStore({ path })).toThrow(`The database ${path} is a link that leads nowhere.`)
  })

  it('is a folder', () => {
    mkdirSync(path)
    expectFailure('is a folder')
  })

  it('has no folder', () => {
    path = join(folder, 'missing', 'askback.db')
    expectFailure(`The folder ${join(folder, 'missing')} of the database does not exist.`)
  })

  it('was truncated', async () => {
    await createAndFill()
    truncateSync(path, 8192)
    expectFailure('is damaged')
  })
})

it('a start reports an overwritten page that it needs, and releases the lock', async () => {
  await createAndFill()
  const original = readFileSync(path)
  const bytes = Buffer.from(original)
  // After the page of the pointer map, which a start does not need.
  bytes.fill(0xff, 8192, 12_288)
  writeFileSync(path, bytes)
  expect(() => checkCanStart(path)).toThrow('is damaged')
  expectFailure('is damaged')
  writeFileSync(path, original)
  checkCanStart(path)
  await sqliteStore({ path }).close()
})

it('a read of an overwritten page reports the damage', async () => {
  await createAndFill()
  const bytes = readFileSync(path)
  bytes.fill(0xff, bytes.indexOf('a long story') - 500, bytes.indexOf('a long story') + 500)
  writeFileSync(path, bytes)
  const store = sqliteStore({ path })
  await expect(store.changes({ limit: 100 })).rejects.toMatchObject({
    code: 'unavailable',
    message: `The database ${path} is damaged: find out more with askback doctor --deep, or restore a backup with askback restore --replace.`,
    cause: { code: 'SQLITE_CORRUPT' },
  })
  await store.close()
})

async function createAndFill(): Promise<void> {
  const store = sqliteStore({ path })
  const script = new SessionScript('s')
  await store.append(script.start())
  // More appends than a start reads.
  for (let index = 0; index < 150; index++)
    await store.append(script.next(text(`a long story ${'.'.repeat(2000)}`)))
  await store.close()
}

function expectFailure(message: string | RegExp): void {
  expect(() => sqliteStore({ path })).toThrow(expect.objectContaining({ code: 'unavailable' }) as Error)
  expect(() => sqliteStore({ path })).toThrow(message)
}
