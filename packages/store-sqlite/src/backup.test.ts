import { answer, ask, SessionScript, text } from '@askback/core/testing'
import type { Store } from '@askback/core'
import Database from 'libsql'
import {
  copyFileSync,
  createWriteStream,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { restoreDatabase, finishCopy } from './backup.js'
import { checkDatabase } from './deep-check.js'
import { sqliteStore } from './sqlite-store.js'
import { copyAsKilled, testFolder } from './testing/files.js'

let work: ReturnType<typeof testFolder>
let path: string
let backup: string
const open: Store[] = []

beforeEach(() => {
  work = testFolder()
  path = join(work.path, 'askback.db')
  backup = join(work.path, 'backup.db')
})
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
  work.remove()
})

function start(at = path): Store {
  const store = sqliteStore({ path: at, commitInThread: true })
  open.push(store)
  return store
}

async function backUp(store: Store, to = backup): Promise<void> {
  await store.copy!(({ chunks }) => pipeline(chunks, createWriteStream(to, { mode: 0o600 })))
  finishCopy(to)
}

function findings(at: string): string[] {
  const found: string[] = []
  checkDatabase(at, (finding) => found.push(finding))
  return found
}

describe('a copy of a store', () => {
  it('contains everything acknowledged before it began, while others write and erase', async () => {
    const store = start()
    const acknowledged: { sessionId: string; seq: number }[] = []
    const load = { isOver: false }
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let round = 0; !load.isOver; round++) {
        const script = new SessionScript(`w${writer}r${round}`)
        const acknowledge = (sessionId: string, seq: number) => acknowledged.push({ sessionId, seq })
        await store.append(script.start())
        for (let index = 0; index < 10; index++) {
          const id = `${writer}-${round}-${index}`
          await store.append(script.next(...ask(id)))
          await store.append(script.next(...answer(id), text('x'.repeat(500))))
          acknowledge(`w${writer}r${round}`, 1 + (index + 1) * 5)
        }
        if (round % 3 === 2) await store.erase(`w${writer}r${round - 1}`)
      }
    })
    const backups: { file: string; expected: Map<string, number> }[] = []
    for (let turn = 0; turn < 5; turn++) {
      await expect.poll(() => acknowledged.length).toBeGreaterThan((turn + 1) * 25)
      const sessions = new Set((await store.sessions({ limit: 10_000 })).items.map(({ id }) => id))
      const expected = new Map<string, number>()
      for (const { sessionId, seq } of acknowledged) if (sessions.has(sessionId)) expected.set(sessionId, seq)
      const file = join(work.path, `backup${turn}.db`)
      await backUp(store, file)
      backups.push({ file, expected })
    }
    load.isOver = true
    await Promise.all(writers)
    expect(acknowledged.length).toBeGreaterThan(100)
    for (const { file, expected } of backups) {
      expect(findings(file)).toEqual([])
      const copy = start(file)
      const erased = []
      for (const [sessionId, seq] of expected) {
        const events = await copy.read({ sessionId, limit: 1000 })
        // A session may have been erased between the query above and the beginning of the copy.
        if (events.length === 0) erased.push(sessionId)
        else expect(events.length).toBeGreaterThanOrEqual(seq)
      }
      expect(erased.length).toBeLessThanOrEqual(8)
    }
  })

  it('delays no writes: those during a copy are acknowledged before it ends', async () => {
    const store = start()
    const script = new SessionScript('s')
    await store.append(script.start())
    await store.copy!(async ({ chunks }) => {
      for (let index = 0; index < 20; index++) await store.append(script.next(text('meanwhile')))
      await pipeline(chunks, createWriteStream(backup))
    })
    finishCopy(backup)
    expect(await store.read({ sessionId: 's', limit: 100 })).toHaveLength(21)
    expect(await start(backup).read({ sessionId: 's', limit: 100 })).toHaveLength(1)
  })

  it('ends when its store is closed or its reader fails', async () => {
    const store = start()
    await store.append(new SessionScript('s').start())
    const failing = store.copy!(() => Promise.reject(new Error('the reader failed')))
    await expect(failing).rejects.toThrow('the reader failed')
    let reportStart: () => void = () => undefined
    const started = new Promise<void>((resolve) => (reportStart = resolve))
    const stuck = store.copy!(() => {
      reportStart()
      return new Promise(() => undefined)
    })
    await started
    await Promise.all([expect(stuck).rejects.toThrow('The store is closed.'), store.close()])
    expect(readdirSync(work.path)).toEqual(['askback.db'])
  })

  it('does not accept the mark and journal of its original', async () => {
    const store = start()
    await store.append(new SessionScript('s').start())
    await backUp(store)
    copyAsKilled(path, `${path}2`)
    copyFileSync(backup, `${path}2`)
    expect(() => start(`${path}2`)).toThrow('is not that of the database')
  })
})

describe('restoring', () => {
  let target: string

  beforeEach(async () => {
    target = join(work.path, 'target.db')
    const store = start()
    const script = new SessionScript('s')
    await store.append(script.start())
    await store.append(script.next(...ask('i')))
    await backUp(store)
    await store.append(script.next(text('after the backup')))
  })

  it('creates the database for its owner only, and does not change the backup', async () => {
    const before = readFileSync(backup)
    expect(restoreDatabase(backup, target)).toMatchObject({ sessions: 1, events: 3, pending: 1 })
    expect(readFileSync(backup)).toEqual(before)
    expect(statSync(target).mode & 0o777).toBe(0o600)
    expect(await start(target).countPending()).toBe(1)
    expect(readdirSync(work.path).filter((name) => name.includes('restoring'))).toEqual([])
  })

  it('does not overwrite data without --replace', async () => {
    const other = start(target)
    await other.append(new SessionScript('other').start())
    await other.close()
    expect(() => restoreDatabase(backup, target)).toThrow(
      /There is data in .*target\.db already: .*--replace/,
    )
    restoreDatabase(backup, target, { replace: true })
    const store = start(target)
    expect((await store.sessions({ limit: 10 })).items.map(({ id }) => id)).toEqual(['s'])
  })

  it('fails while the data is in use', async () => {
    expect(() => restoreDatabase(backup, path, { replace: true })).toThrow(
      'is in use by this process already',
    )
    expect(await open[0]!.countSessions()).toBe(1)
  })

  it('replaces a database after a kill or a loss, with its journal', async () => {
    copyAsKilled(path, target)
    restoreDatabase(backup, target, { replace: true })
    expect(existsSync(`${target}-wal`)).toBe(false)
    const store = start(target)
    expect(await store.read({ sessionId: 's', limit: 10 })).toHaveLength(3)
    await store.close()

    copyAsKilled(path, target)
    writeFileSync(target, 'no database')
    restoreDatabase(backup, target, { replace: true })
    expect(await start(target).read({ sessionId: 's', limit: 10 })).toHaveLength(3)
  })

  it.each([
    ['is damaged', (bytes: Buffer) => bytes.fill(0xff, bytes.length - 4096)],
    [
      'is damaged',
      (bytes: Buffer) =>
        bytes.fill('1', bytes.indexOf('"interaction_request"'), bytes.indexOf('"interaction_request"') + 4),
    ],
    ['is not an Askback database', () => Buffer.from('Dear diary')],
  ])('rejects a backup that %s', (reason, damage) => {
    const damaged = `${backup}-damaged`
    writeFileSync(damaged, damage(readFileSync(backup)))
    expect(() => restoreDatabase(damaged, target)).toThrow(reason)
    expect(existsSync(target)).toBe(false)
  })

  it('rejects a file that was copied while a gateway used it', () => {
    copyAsKilled(path, `${backup}-raw`, ['-wal', '-mark'])
    expect(() => restoreDatabase(`${backup}-raw`, target)).toThrow(
      `${backup}-raw was copied while it was in use`,
    )
    copyAsKilled(path, `${backup}-raw`)
    expect(() => restoreDatabase(`${backup}-raw`, target)).toThrow(/raw-wal.* beside it/)
  })

  it('does not change the old database if the backup is rejected, nor hide its loss', () => {
    copyAsKilled(path, target, ['-wal'])
    expect(() => start(target)).toThrow('lacks writes that were acknowledged')
    const mark = readFileSync(`${target}-mark`)
    writeFileSync(`${backup}-damaged`, 'Dear diary')
    expect(() => restoreDatabase(`${backup}-damaged`, target, { replace: true })).toThrow(
      'is not an Askback database',
    )
    expect(readFileSync(`${target}-mark`)).toEqual(mark)
    expect(() => start(target)).toThrow('lacks writes that were acknowledged')
  })

  it('rejects a backup with a trigger', () => {
    const raw = new Database(backup)
    raw.exec('CREATE TRIGGER forget AFTER INSERT ON log BEGIN DELETE FROM log WHERE pos = NEW.pos; END')
    raw.close()
    expect(() => restoreDatabase(backup, target)).toThrow('has the trigger forget')
    expect(existsSync(target)).toBe(false)
  })

  it('rejects an empty or endless file', () => {
    writeFileSync(`${backup}-empty`, '')
    expect(() => restoreDatabase(`${backup}-empty`, target)).toThrow(
      `The file ${backup}-empty is no backup: there is nothing in it.`,
    )
    const blank = new Database(`${backup}-blank`)
    blank.exec('CREATE TABLE t (a); DROP TABLE t')
    blank.close()
    expect(() => restoreDatabase(`${backup}-blank`, target)).toThrow('there is nothing in it')
    expect(() => restoreDatabase('/dev/zero', target)).toThrow('There is no file /dev/zero.')
    expect(() => restoreDatabase(work.path, target)).toThrow('There is no file')
    expect(existsSync(target)).toBe(false)
  })

  it('rejects a file that does not exist', () => {
    expect(() => restoreDatabase(`${backup}-gone`, target)).toThrow(`There is no file ${backup}-gone.`)
  })
})
