import type { Store } from '@askback/core'
import { answer, ask, deliver, SessionScript, text, toolCall, toolResult } from '@askback/core/testing'
import type { NewEvent } from '@askback/protocol'
import * as fc from 'fast-check'
import Database from 'libsql'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { checkDatabase } from './deep-check.js'
import { openDatabase, type OpenDatabase } from './open.js'
import { createStore, sqliteStore } from './sqlite-store.js'
import { copyAsKilled, testFolder } from './testing/files.js'
import { contentOf, findings } from './testing/tables.js'

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

function start(at = path, change: (db: OpenDatabase) => OpenDatabase = (db) => db): Store {
  const store = createStore(change(openDatabase(at)))
  open.push(store)
  return store
}

function killed(): string {
  return copyAsKilled(path, join(folder.path, `killed-${++copies}.db`))
}

function waitingIn(file: string): number {
  const raw = new Database(file)
  const [count] = raw
    .prepare("SELECT count(*) FROM log WHERE pos > (SELECT value FROM meta WHERE key = 'derived')")
    .raw()
    .get([]) as [number]
  raw.close()
  return count
}

/** The events of one interaction in a session of its own, in the order of a desk. */
function eventsOf(id: string): NewEvent[][] {
  return [
    [toolCall(`call-${id}`)],
    ask(id, { expiresAt: 2_000_000_000_000 }),
    [text('still working')],
    [...answer(id)],
    [deliver(id), toolResult(`call-${id}`)],
  ]
}

describe('after a kill', () => {
  it('a start writes what the tables lack, and a check of the file finds nothing', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ id: fc.constantFrom('a', 'b', 'c'), reads: fc.boolean() }), { maxLength: 15 }),
        async (steps) => {
          const store = start()
          const scripts = new Map<string, { script: SessionScript; left: NewEvent[][] }>()
          for (const { id, reads } of steps) {
            const known = scripts.get(id)
            const { script, left } = known ?? { script: new SessionScript(`of ${id}`), left: eventsOf(id) }
            if (!known) await store.append(script.start())
            scripts.set(id, { script, left })
            const events = left.shift()
            if (events) await store.append(script.next(...events))
            if (reads) await store.countPending()
          }
          const at = killed()
          expect(findings(at)).toEqual([])
          const ids = [...scripts.keys()]
          const content = { ids, sessions: ids.map((id) => `of ${id}`) }
          expect(await contentOf(start(at), content)).toEqual(await contentOf(store, content))
          for (const each of open.splice(0)) await each.close()
          folder.remove()
          folder = testFolder()
          path = join(folder.path, 'askback.db')
        },
      ),
      { numRuns: 20 },
    )
  }, 60_000)

  it('a check counts what is pending according to the log', async () => {
    const store = start()
    const script = new SessionScript('s')
    await store.append(script.start())
    await store.append(script.next(...ask('i')))
    const at = killed()
    expect(waitingIn(copyAsKilled(at, `${at}-raw`))).toBe(2)
    expect(checkDatabase(at, () => undefined)).toMatchObject({ sessions: 1, pending: 1 })
  })
})

it('many appends leave only the last ones to be written', async () => {
  const store = start()
  const script = new SessionScript('s')
  await store.append(script.start())
  for (let index = 0; index < 600; index++) await store.append(script.next(text(`${index}`)))
  expect(waitingIn(killed())).toBeLessThan(256)
})

it('long appends do not wait until there are many', async () => {
  const store = start()
  const script = new SessionScript('s')
  await store.append(script.start())
  for (let index = 0; index < 5; index++) await store.append(script.next(text('x'.repeat(300_000))))
  expect(waitingIn(killed())).toBeLessThan(4)
})

it('what follows from an append is written before the next checkpoint, without a read', async () => {
  const store = createStore(openDatabase(path), { checkpoint: { everyMs: 5 } })
  open.push(store)
  await store.append(new SessionScript('s').start())
  await expect.poll(() => waitingIn(killed())).toBe(0)
})

it('a clean stop leaves nothing to be written', async () => {
  const store = sqliteStore({ path })
  await store.append(new SessionScript('s').start())
  await store.close()
  expect(waitingIn(path)).toBe(0)
})

describe('on a disk that is full', () => {
  it('reads are current, and nothing is lost', async () => {
    let isFull = false
    const store = start(path, (db) => ({
      ...db,
      commit() {
        if (isFull) throw Object.assign(new Error('injected'), { code: 'SQLITE_FULL' })
        db.commit()
      },
    }))
    const script = new SessionScript('s')
    await store.append(script.start())
    await store.append(script.next(...ask('i')))
    isFull = true
    expect(await store.countPending()).toBe(1)
    expect(await store.interaction('i')).toMatchObject({ status: 'pending' })
    await expect(store.append(script.attempt(script.seq, text('more')))).rejects.toThrow('the disk is full')
    expect(await store.countPending()).toBe(1)
    isFull = false
    await store.append(script.next(...answer('i')))
    expect(await store.countPending()).toBe(0)
    expect(waitingIn(killed())).toBe(0)
  })
})

it('an append whose commit seemed to fail is in the tables if it is in the log', async () => {
  let failsAfterCommit = false
  const store = start(path, (db) => ({
    ...db,
    commit() {
      db.commit()
      if (failsAfterCommit) throw Object.assign(new Error('injected'), { code: 'SQLITE_FULL' })
    },
  }))
  const script = new SessionScript('s')
  await store.append(script.start())
  failsAfterCommit = true
  await expect(store.append(script.next(...ask('i'), ...answer('i')))).rejects.toThrow('not known')
  expect(await store.read({ sessionId: 's', limit: 10 })).toHaveLength(script.seq)
  expect(await store.interaction('i')).toMatchObject({ status: 'settled' })
  failsAfterCommit = false
  await store.append(script.next(...ask('j')))
  expect(await store.countPending()).toBe(1)
  expect((await store.audit({ limit: 10 })).items).toHaveLength(1)
})

describe('checkpoints', () => {
  /** Counts the checkpoints, and lets commits fail while `isFull` says so. */
  function watched(isFull: (checkpoints: number) => boolean) {
    const seen = { checkpoints: 0 }
    const db = openDatabase(path)
    const store = createStore(
      {
        ...db,
        commit() {
          if (isFull(seen.checkpoints)) throw Object.assign(new Error('injected'), { code: 'SQLITE_FULL' })
          db.commit()
        },
        async execAside(sql) {
          await db.execAside(sql)
          seen.checkpoints += 1
        },
      },
      { checkpoint: { everyMs: 5 } },
    )
    open.push(store)
    return { store, seen }
  }

  it('end when there is nothing more to write', async () => {
    const { store, seen } = watched(() => false)
    await store.append(new SessionScript('s').start())
    const during = async (ms: number) => {
      const before = seen.checkpoints
      await delay(ms)
      return seen.checkpoints - before
    }
    await expect.poll(() => seen.checkpoints).toBeGreaterThan(0)
    await expect.poll(() => during(100)).toBe(0)
  })

  it('happen although the tables cannot be written, because they make room in the journal', async () => {
    let isFull = false
    const { store } = watched((checkpoints) => isFull && checkpoints === 0)
    const script = new SessionScript('s')
    await store.append(script.start())
    isFull = true
    await expect
      .poll(() => store.append(script.attempt(script.seq, text('x'))).catch(() => null))
      .toEqual({ ok: true })
  })
})

describe('syncing', () => {
  /** Notes for each commit whether it was synced. */
  function watchSyncs() {
    const seen = { synced: [] as boolean[], failsRollback: false }
    let isSynced = true
    const store = start(path, (db) => ({
      ...db,
      setSync(isOn) {
        db.setSync(isOn)
        isSynced = isOn
      },
      commit() {
        if (seen.failsRollback) throw Object.assign(new Error('injected'), { code: 'SQLITE_IOERR_WRITE' })
        db.commit()
        seen.synced.push(isSynced)
      },
      rollback() {
        const fails = seen.failsRollback
        seen.failsRollback = false
        if (fails) throw new Error('injected')
        db.rollback()
      },
    }))
    return { store, seen }
  }

  it('happens for appends, also after a read that wrote the tables without', async () => {
    const { store, seen } = watchSyncs()
    const script = new SessionScript('s')
    await store.append(script.start())
    await store.countPending()
    await store.append(script.next(text('x')))
    expect(seen.synced).toEqual([true, false, true])
  })

  it('happens for appends also after a rollback failed', async () => {
    const { store, seen } = watchSyncs()
    const script = new SessionScript('s')
    await store.append(script.start())
    seen.failsRollback = true
    await store.countPending()
    seen.synced.length = 0
    await expect
      .poll(() => store.append(script.attempt(script.seq, text('x'))).catch(() => null))
      .toEqual({ ok: true })
    expect(seen.synced).toEqual([true])
  })
})
