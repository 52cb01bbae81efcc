import type { Store } from '@askback/core'
import { answer, ask, deliver, progress, SessionScript, text, toolCall } from '@askback/core/testing'
import Database from 'libsql'
import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { finishBackup, restoreDatabase } from './backup.js'
import { openDatabase } from './open.js'
import { createStore } from './sqlite-store.js'
import { copyAsKilled, testFolder } from './testing/files.js'
import { contentOf as contentFor, findings } from './testing/tables.js'

let folder: ReturnType<typeof testFolder>
let path: string
let copies = 0
const open: Store[] = []

beforeEach(() => {
  folder = testFolder()
  path = join(folder.path, 'askback.db')
})
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
  folder.remove()
})

function start(at = path): Store {
  const store = createStore(openDatabase(at))
  open.push(store)
  return store
}

const contentOf = (store: Store) =>
  contentFor(store, { sessions: ['a', 'b'], ids: ['a', 'b', 'later', 'open', 'many-7', 'b-1999'] })

function nextPath(): string {
  return join(folder.path, `copy-${++copies}.db`)
}

const killed = () => copyAsKilled(path, nextPath())

/** Changes a database that nobody uses. */
function change(at: string, sql: string): void {
  const raw = new Database(at)
  raw.exec(sql)
  raw.close()
}

/** The files of the database after each commit, as a kill would leave them. */
function withCopies(): { store: Store; copiesMade: string[] } {
  const copiesMade: string[] = []
  const db = openDatabase(path)
  const store = createStore({
    ...db,
    commit() {
      db.commit()
      copiesMade.push(killed())
    },
  })
  open.push(store)
  return { store, copiesMade }
}

async function fill(store: Store, sessionId: string, word: string, id = sessionId): Promise<SessionScript> {
  const script = new SessionScript(sessionId)
  await store.append(script.start())
  await store.append(script.next(toolCall(`call-${id}`), ...ask(id, { request: word })))
  await store.append(script.next(...answer(id, { message: word, ruleId: 'rule' }), deliver(id)))
  return script
}

describe('after a power failure', () => {
  it('nothing is missing, wherever a commit that was not synced is cut', async () => {
    const store = start()
    const script = await fill(store, 'a', 'word')
    await store.append(script.next(...ask('later')))
    const synced = statSync(`${path}-wal`).size
    const expected = await contentOf(store)
    const written = statSync(`${path}-wal`).size
    expect(written).toBeGreaterThan(synced)
    for (let size = synced; size <= written; size += 2060) {
      const at = killed()
      truncateSync(`${at}-wal`, size)
      expect(findings(at)).toEqual([])
      const left = start(at)
      expect(await contentOf(left)).toEqual(expected)
      expect(await left.countPending()).toBe(1)
      await left.close()
    }
  })
})

it('a start derives everything, however much it is', async () => {
  const store = start()
  const script = await fill(store, 'a', 'word')
  for (let index = 0; index < 300; index++)
    await store.append(script.next(...ask(`many-${index}`), ...answer(`many-${index}`, { ruleId: 'rule' })))
  await store.append(script.next(...Array.from({ length: 2000 }, (_, index) => ask(`b-${index}`)).flat()))
  await store.append(
    script.next(...Array.from({ length: 2000 }, (_, index) => answer(`b-${index}`, { message: 'm' })).flat()),
  )
  await fill(store, 'b', 'other')
  const expected = await contentOf(store)
  await store.close()
  change(
    path,
    `UPDATE meta SET value = 0 WHERE key = 'derived'; DELETE FROM interactions; DELETE FROM tool_calls; DELETE FROM audit;
     UPDATE sessions SET status = 'idle', permission_mode = 'default', updated_at = 0`,
  )
  expect(findings(path)).toEqual([])
  const again = start()
  expect(await contentOf(again)).toEqual(expected)
  expect((await again.audit({ limit: 10_000 })).items).toHaveLength(300 * 2 + 2000 + 4)
  await again.close()
  expect(findings(path)).toEqual([])
})

describe('an erasure', () => {
  it('leaves nothing that comes back, wherever a kill interrupts it', async () => {
    const { store, copiesMade } = withCopies()
    await fill(store, 'a', 'rosebud')
    const again = new SessionScript('b')
    await store.append(again.start())
    copiesMade.length = 0
    await store.erase('a')
    // A session of the same id, which is erased as well while its appends wait to be derived.
    await fill(store, 'a', 'rosebud')
    await store.append(again.next(...ask('kept')))
    await store.erase('a')
    expect(copiesMade.length).toBeGreaterThan(6)
    for (const at of copiesMade) {
      expect(findings(at)).toEqual([])
      const left = start(at)
      const isErased = (await left.session('a')) === null
      // Only after the erasure that the start continues, which a close would interrupt.
      await expect.poll(() => isErased && wordIn(at, 'rosebud')).toBe(false)
      if (isErased) expect(await left.interaction('a')).toBeNull()
      if (isErased) expect(JSON.stringify(await left.audit({ limit: 100 }))).not.toContain('rosebud')
      await left.close()
      expect(findings(at)).toEqual([])
    }
  }, 60_000)

  it('that an older version left half done does not stop a start', async () => {
    const store = start()
    await fill(store, 'a', 'rosebud')
    await fill(store, 'b', 'kept')
    await store.close()
    change(
      path,
      `INSERT INTO erased SELECT key FROM sessions WHERE id = 'a';
       UPDATE log SET body = CAST(zeroblob(length(CAST(body AS BLOB))) AS TEXT)
         WHERE session = (SELECT key FROM sessions WHERE id = 'a');
       DELETE FROM sessions WHERE id = 'a'; DELETE FROM meta WHERE key = 'derived'; PRAGMA user_version = 3`,
    )
    const migrated = start()
    expect((await migrated.sessions({ limit: 10 })).items).toMatchObject([{ id: 'b' }])
    const script = new SessionScript('c')
    await migrated.append(script.start())
    await migrated.append(script.next(...ask('new')))
    const left = start(killed())
    expect((await left.pending({ limit: 10 })).items).toMatchObject([{ interactionId: 'new' }])
    expect((await left.audit({ limit: 10 })).items).toHaveLength(4)
  })
})

function wordIn(at: string, word: string): boolean {
  const name = at.slice(folder.path.length + 1)
  return readdirSync(folder.path).some(
    (file) => file.startsWith(name) && readFileSync(join(folder.path, file)).includes(word),
  )
}

it('a backup that was made while appends waited is restored with what follows from them', async () => {
  const store = start()
  const script = await fill(store, 'a', 'word')
  await store.append(script.next(...ask('open', { expiresAt: 2_000_000_000_000 })))
  const draft = nextPath()
  await store.copy!(async ({ chunks }) => {
    const parts: Uint8Array[] = []
    for await (const chunk of chunks) parts.push(chunk)
    writeFileSync(draft, Buffer.concat(parts))
  })
  const [backup, restored] = [nextPath(), nextPath()]
  expect(finishBackup(draft, backup)).toMatchObject({ sessions: 1, pending: 1 })
  expect(restoreDatabase(backup, restored)).toMatchObject({ sessions: 1, pending: 1 })
  expect(await contentOf(start(restored))).toEqual(await contentOf(store))
})

it('an interaction whose id was used before starts again, also if both wait to be derived', async () => {
  const store = start()
  const script = new SessionScript('a')
  await store.append(script.start())
  await store.append(script.next(...ask('open'), progress('open', ['half'])))
  await store.append(script.next(...answer('open', { message: 'before' }), deliver('open')))
  await store.append(script.next(...ask('open', { toolCallId: 'another' })))
  const { toolCallId, ...again } = (await store.interaction('open'))!
  expect(toolCallId).toBe('another')
  expect(again).toMatchObject({ status: 'pending' })
  for (const field of ['progress', 'message', 'settlement', 'delivered'])
    expect(again).not.toHaveProperty(field)
  expect(findings(killed())).toEqual([])
})

it('ids that are not well-formed text lead to the same tables after a kill', async () => {
  const store = start()
  const ids = ['\ud800', 'x\udfff', 'n\0', 'n\0m', '"\\']
  for (const [index, id] of ids.entries()) await fill(store, `s${index}`, id, id)
  const read = (from: Store) =>
    Promise.all([contentOf(from), ...ids.map((id, index) => from.interactionsOf(`s${index}`, `call-${id}`))])
  const left = start(killed())
  expect(await read(left)).toEqual(await read(store))
  expect((await read(left)).slice(1)).toMatchObject(
    ids.map((interactionId) => [{ interactionId, status: 'settled' }]),
  )
})

it('after a failed sync reads are current, and nothing more is written', async () => {
  let fails = false
  const db = openDatabase(path)
  const store = createStore({
    ...db,
    commit() {
      if (fails) throw Object.assign(new Error('injected'), { code: 'SQLITE_IOERR_FSYNC' })
      db.commit()
    },
  })
  open.push(store)
  const script = await fill(store, 'a', 'word')
  await store.append(script.next(...ask('open')))
  fails = true
  await expect(store.append(script.attempt(script.seq, ...answer('open')))).rejects.toThrow(
    'could not be synced',
  )
  fails = false
  const before = readFileSync(`${path}-wal`)
  expect(await store.countPending()).toBe(1)
  expect((await store.audit({ limit: 10 })).items).toHaveLength(2)
  expect(readFileSync(`${path}-wal`)).toEqual(before)
  await expect(store.append(script.attempt(script.seq, text('x')))).rejects.toThrow('could not be synced')
})
