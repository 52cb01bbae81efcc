import { ask, SessionScript, text } from '@askback/core/testing'
import type { Store } from '@askback/core'
import Database from 'libsql'
import {
  copyFileSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from './open.js'
import { createStore, sqliteStore } from './sqlite-store.js'
import { copyAsKilled, testFolder } from './testing/files.js'

/** The sizes of the journal's header, and of a frame: a page with a header of 24 bytes. */
const HEADER_BYTES = 32
const FRAME_BYTES = 4096 + 24

let work: ReturnType<typeof testFolder>
let path: string
let copy: string
let script: SessionScript
const open: Store[] = []

beforeEach(() => {
  work = testFolder()
  path = join(work.path, 'askback.db')
  copy = join(work.path, 'copy.db')
  script = new SessionScript('s')
})
afterEach(async () => {
  for (const store of open.splice(0)) await store.close().catch(() => undefined)
  work.remove()
})

function start(at = path): Store {
  const store = sqliteStore({ path: at })
  open.push(store)
  return store
}

/** Opens a store and makes `writes` appends, the last with a request. */
async function startAndWrite(writes = 20): Promise<Store> {
  const store = start()
  await store.append(script.start())
  for (let index = 2; index < writes; index++) await store.append(script.next(text(`word ${index}`)))
  await store.append(script.next(...ask('i')))
  return store
}

describe('the main file', () => {
  it('has its tables before anything is acknowledged', () => {
    start()
    copyAsKilled(path, copy, ['-wal'])
    const raw = new Database(copy)
    expect(raw.prepare('SELECT count(*) FROM sqlite_schema').raw().get([])).not.toEqual([0])
    raw.close()
  })

  it('contains everything some time after the last write', async () => {
    const store = createStore(openDatabase(path), { checkpoint: { everyMs: 5 } })
    open.push(store)
    await store.append(script.start({ title: 'rosebud' }))
    await expect.poll(() => readFileSync(path).includes('rosebud')).toBe(true)
  })

  it('is updated earlier if the journal grows fast, and the journal does not exceed its limit', async () => {
    const store = createStore(openDatabase(path), { checkpoint: { everyMs: 1_000_000, maxFrames: 50 } })
    open.push(store)
    await store.append(script.start())
    for (let index = 0; index < 300; index++) await store.append(script.next(text('x'.repeat(3000))))
    expect(statSync(`${path}-wal`).size).toBeLessThan(HEADER_BYTES + 200 * FRAME_BYTES)
    expect(statSync(path).size).toBeGreaterThan(250 * 3000)
    expect(await store.read({ sessionId: 's', limit: 1000 })).toHaveLength(301)
  })
})

describe('after a kill', () => {
  it('everything acknowledged is found', async () => {
    await startAndWrite()
    const store = start(copyAsKilled(path, copy))
    expect(await store.read({ sessionId: 's', limit: 100 })).toHaveLength(21)
    expect(await store.countPending()).toBe(1)
  })

  it.each([
    ['before anything was acknowledged', 0],
    ['after one write', 1],
  ])('%s a start succeeds', async (_when, writes) => {
    const store = start()
    if (writes > 0) await store.append(script.start())
    expect(await start(copyAsKilled(path, copy)).countSessions()).toBe(writes)
  })

  it('a start succeeds after another program moved the journal into the main file', async () => {
    await startAndWrite()
    copyAsKilled(path, copy)
    const raw = new Database(copy)
    raw.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    raw.close()
    expect(existsSync(`${copy}-wal`)).toBe(false)
    expect(await start(copy).countPending()).toBe(1)
  })

  it.each([
    ['an older mark, as after a power failure,', (old: Buffer) => old],
    ['a mark whose first copy is damaged', (_old: Buffer, now: Buffer) => now.fill(0xff, 0, 64)],
    ['a mark whose second copy is damaged', (_old: Buffer, now: Buffer) => now.fill(0xff, 4096, 4160)],
  ])('%s does not report a loss', async (_what, markOf) => {
    const store = await startAndWrite()
    const old = readFileSync(`${path}-mark`)
    for (let index = 0; index < 5; index++) await store.append(script.next(text('later')))
    copyAsKilled(path, copy)
    writeFileSync(`${copy}-mark`, markOf(old, readFileSync(`${path}-mark`)))
    expect(await start(copy).read({ sessionId: 's', limit: 100 })).toHaveLength(26)
  })

  it('a database of an older version, which had no mark, starts', async () => {
    const store = await startAndWrite()
    await store.close()
    const raw = new Database(path)
    raw.exec(`ALTER TABLE log DROP COLUMN sum; DELETE FROM meta WHERE key <> 'reserved';
      PRAGMA user_version = 2; PRAGMA journal_mode = WAL; UPDATE sessions SET updated_at = 5`)
    copyAsKilled(path, copy)
    raw.close()
    const [row] = (await start(copy).sessions({ limit: 10 })).items
    expect(row).toMatchObject({ id: 's', updatedAt: 5 })
  })

  it('a start succeeds several times in a row', async () => {
    await startAndWrite()
    let from = path
    for (let turn = 0; turn < 3; turn++) {
      const store = start(copyAsKilled(from, `${copy}${turn}`))
      await store.append(script.next(text(`turn ${turn}`)))
      from = `${copy}${turn}`
    }
    expect(await start(copyAsKilled(from, copy)).read({ sessionId: 's', limit: 100 })).toHaveLength(24)
  })
})

describe('a start with less than was acknowledged fails', () => {
  const LACKS = /lacks writes that were acknowledged: its journal .*copy\.db-wal is missing, cut or damaged\./

  it('without the journal', async () => {
    await startAndWrite()
    copyAsKilled(path, copy, ['-wal'])
    expectFailure(LACKS)
  })

  it('with a journal that was truncated at a frame', async () => {
    await startAndWrite()
    copyAsKilled(path, copy)
    const frames = Math.floor((statSync(`${copy}-wal`).size - HEADER_BYTES) / FRAME_BYTES)
    truncateSync(`${copy}-wal`, HEADER_BYTES + Math.floor(frames / 2) * FRAME_BYTES)
    expectFailure(LACKS)
    expectFailure('askback restore')
  })

  it('with a journal that lost its last commit only', async () => {
    await startAndWrite()
    copyAsKilled(path, copy)
    truncateSync(`${copy}-wal`, statSync(`${copy}-wal`).size - 1)
    expectFailure(LACKS)
  })

  it('with a journal that is damaged in the middle', async () => {
    await startAndWrite()
    copyAsKilled(path, copy)
    const bytes = readFileSync(`${copy}-wal`)
    bytes[Math.floor(bytes.length / 2)]! ^= 1
    writeFileSync(`${copy}-wal`, bytes)
    expectFailure(LACKS)
  })

  it('or has everything, wherever the journal was truncated or damaged', async () => {
    await startAndWrite()
    const { size } = statSync(`${path}-wal`)
    const starts = { complete: 0, failed: 0 }
    for (let turn = 0; turn < 80; turn++) {
      const at = Math.floor(((turn % 40) / 40) * size)
      const each = copyAsKilled(path, `${copy}-${turn}`)
      if (turn < 40) truncateSync(`${each}-wal`, at)
      else {
        const bytes = readFileSync(`${each}-wal`)
        bytes[at]! ^= 0x10
        writeFileSync(`${each}-wal`, bytes)
      }
      try {
        const store = start(each)
        expect(await store.read({ sessionId: 's', limit: 100 })).toHaveLength(21)
        expect(await store.countPending()).toBe(1)
        starts.complete++
      } catch (error) {
        expect(String(error)).toMatch(/lacks writes that were acknowledged/)
        starts.failed++
      }
    }
    expect(starts.failed).toBeGreaterThan(60)
  })

  it('and does not change the journal, so that it can be repaired', async () => {
    await startAndWrite()
    copyAsKilled(path, copy)
    const bytes = readFileSync(`${copy}-wal`)
    const offset = Math.floor(bytes.length / 2)
    bytes[offset]! ^= 1
    writeFileSync(`${copy}-wal`, bytes)
    expectFailure(LACKS)
    bytes[offset]! ^= 1
    writeFileSync(`${copy}-wal`, bytes)
    expect(await start(copy).countPending()).toBe(1)
  })

  it('with the main file alone, copied while it was in use', async () => {
    await startAndWrite()
    copyAsKilled(path, copy, ['-wal', '-mark'])
    expectFailure('was copied while it was in use, or its file')
  })

  it('with a mark alone, and no file is created', async () => {
    await startAndWrite()
    copyAsKilled(path, copy, ['', '-wal'])
    expectFailure(`The database ${copy} is gone`)
    expect(existsSync(copy)).toBe(false)
  })

  it('with a journal alone, and no file is created', async () => {
    await startAndWrite()
    copyAsKilled(path, copy, ['', '-mark'])
    expectFailure(`The journal ${copy}-wal is not that of the database ${copy}`)
    expect(existsSync(copy)).toBe(false)
  })

  it('with a mark that is unreadable', async () => {
    await startAndWrite()
    copyAsKilled(path, copy)
    writeFileSync(`${copy}-mark`, 'x')
    expectFailure('-mark is damaged, so it may lack what was acknowledged')
  })

  it('with an older copy of the database', async () => {
    const before = await startAndWrite()
    await before.close()
    copyFileSync(path, `${copy}-old`)
    const store = start()
    for (let index = 0; index < 5; index++) await store.append(script.next(text('later')))
    copyAsKilled(path, copy)
    rmSync(`${copy}-wal`)
    copyFileSync(`${copy}-old`, copy)
    expectFailure(LACKS)
  })

  it('with an older copy beside the newer journal', async () => {
    const before = await startAndWrite()
    await before.close()
    copyFileSync(path, `${copy}-old`)
    const store = start()
    await store.append(script.next(text('later')))
    copyAsKilled(path, copy)
    copyFileSync(`${copy}-old`, copy)
    expectFailure(`The journal ${copy}-wal is not that of the database ${copy}`)
  })

  it('with another database', async () => {
    await startAndWrite()
    copyAsKilled(path, copy, ['', '-wal'])
    const other = start(join(work.path, 'other.db'))
    for (let index = 0; index < 50; index++) await other.kv.put(`k${index}`, 1, null)
    await other.close()
    copyFileSync(join(work.path, 'other.db'), copy)
    expectFailure('was put in the place of another')
  })

  it('with a last append that does not match its checksum', async () => {
    const store = await startAndWrite()
    await store.close()
    const bytes = readFileSync(path)
    bytes.write('w0rd', bytes.indexOf('word 17'))
    writeFileSync(copy, bytes)
    expectFailure('is damaged: an append of the session s does not match its checksum')
  })

  it('with a gap in a log', async () => {
    const store = await startAndWrite()
    await store.close()
    const raw = new Database(path)
    raw.exec('DELETE FROM log WHERE last_seq = 10')
    raw.close()
    copyFileSync(path, copy)
    expectFailure('is damaged: the log of the session s has a gap before seq 11')
  })

  it('unless the loss is accepted', async () => {
    await startAndWrite()
    copyAsKilled(path, copy, ['-wal'])
    expect(openDatabase(copy, { acceptLoss: true }).close()).toBe(true)
    expect(await start(copy).countPending()).toBe(0)
  })

  function expectFailure(message: string | RegExp): void {
    expect(() => start(copy)).toThrow(message)
    expect(() => start(copy)).toThrow(expect.objectContaining({ code: 'unavailable' }) as Error)
  }
})

describe('space', () => {
  const pages = () => statSync(path).size / 4096
  let copies = 0
  /** Reads a copy with a new name each time, because the engine caches what it knows of a file. */
  function freePages(): number {
    const raw = new Database(copyAsKilled(path, `${copy}-${copies++}`))
    const [free] = raw.prepare('PRAGMA freelist_count').raw().get([]) as [number]
    raw.close()
    return free
  }

  async function startAndFill(sessions: number): Promise<Store> {
    const store = start()
    for (let session = 0; session < sessions; session++) {
      const each = new SessionScript(`s${session}`)
      await store.append(each.start())
      await Promise.all(Array.from({ length: 40 }, () => store.append(each.next(text('x'.repeat(3000))))))
    }
    return store
  }

  it('is given back after an erasure, while others write', async () => {
    const store = await startAndFill(10)
    for (let session = 0; session < 9; session++) await store.erase(`s${session}`)
    await expect
      .poll(async () => {
        await store.kv.put('beside', 1, (await store.kv.get('beside'))?.version ?? null)
        return freePages()
      })
      .toBeLessThan(5)
    await store.close()
    expect(pages()).toBeLessThan(100)
    expect(await start().read({ sessionId: 's9', limit: 100 })).toHaveLength(41)
  })

  it('is also given back by a database of an older version', async () => {
    const store = await startAndFill(5)
    await store.close()
    const raw = new Database(path)
    raw.exec(`ALTER TABLE log DROP COLUMN sum; DELETE FROM meta WHERE key <> 'reserved';
      PRAGMA auto_vacuum = NONE; VACUUM; PRAGMA user_version = 2`)
    expect(raw.prepare('PRAGMA auto_vacuum').raw().get([])).toEqual([0])
    raw.close()
    const before = pages()

    const again = start()
    for (let session = 0; session < 4; session++) await again.erase(`s${session}`)
    await again.close()
    const last = start()
    await expect.poll(freePages).toBeLessThan(5)
    await last.close()
    expect(pages()).toBeLessThan(before / 2)
  })

  it('of an erased session contains no word of it, although pages were moved', async () => {
    const store = await startAndFill(3)
    await store.append(new SessionScript('gone').start({ title: 'rosebud' }))
    await store.erase('gone')
    expect([path, `${path}-wal`].some((file) => readFileSync(file).includes('rosebud'))).toBe(false)
  })
})
