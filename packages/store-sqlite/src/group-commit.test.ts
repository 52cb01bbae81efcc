import type { Store } from '@askback/core'
import { ask, SessionScript, text } from '@askback/core/testing'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openDatabase, type OpenDatabase } from './open.js'
import { createStore, sqliteStore } from './sqlite-store.js'
import { copyAsKilled, testFolder } from './testing/files.js'

let folder: ReturnType<typeof testFolder>
let path: string
let store: Store
let commits: number
let commitsAside: number
let isCommitting: boolean
let onCommitAside: () => void
let failNext: { where: 'statement' | 'before commit' | 'after commit'; code: string } | null

beforeEach(() => {
  folder = testFolder()
  path = join(folder.path, 'askback.db')
  commits = 0
  commitsAside = 0
  isCommitting = false
  onCommitAside = () => {}
  failNext = null
  store = createStore(withFailures(openDatabase(path)), { commitInThread: true })
})
afterEach(async () => {
  await store.close()
  folder.remove()
})

it('writes that are submitted together share one transaction', async () => {
  const scripts = manyScripts()
  await Promise.all(scripts.map((script) => store.append(script.start())))
  expect(commits).toBe(1)
  await Promise.all([
    ...scripts.map((script) => store.append(script.next(text('x')))),
    store.kv.put('k', 1, null),
  ])
  expect(commits).toBe(2)
})

const NOT_WRITTEN = { outcome: 'not_written', sentence: 'Nothing was written.' } as const
const UNKNOWN = { outcome: 'unknown', sentence: 'Whether this write survives is not known.' } as const

it.each([
  { where: 'statement', others: 0, ...NOT_WRITTEN },
  { where: 'statement', others: 20, ...NOT_WRITTEN },
  { where: 'before commit', others: 0, ...UNKNOWN },
  { where: 'before commit', others: 20, ...UNKNOWN },
] as const)(
  'a failure at the $where rejects all that shared the transaction, with $others others',
  async ({ where, others, outcome, sentence }) => {
    const [a, b] = [new SessionScript('a'), new SessionScript('b')]
    const start = a.start()
    await store.append(start)
    const notices: unknown[] = []
    store.onAppend((notice) => notices.push(notice))

    failNext = { where, code: 'SQLITE_FULL' }
    const one = a.next(text('1'), ...ask('i'))
    const other = b.start()
    const results = await Promise.allSettled([
      store.append({ ...one, kv: [{ key: 'k', value: 1, ifAbsent: true }] }),
      store.append(other),
      store.kv.put('other', 1, null),
      ...Array.from({ length: others }, (_, index) => store.append(new SessionScript(`o${index}`).start())),
    ])
    expect(commitsAside).toBe(others > 0 && where !== 'statement' ? 1 : 0)
    for (const result of results) {
      expect(result).toMatchObject({
        status: 'rejected',
        reason: {
          code: 'unavailable',
          message: `The database ${path} cannot grow: the disk is full. ${sentence}`,
          details: { outcome },
          cause: { code: 'SQLITE_FULL' },
        },
      })
    }
    expect(notices).toEqual([])
    expect(await store.changes({ limit: 10 })).toMatchObject([{ events: start.events }])
    expect(await store.countPending()).toBe(0)
    expect(await store.kv.list('')).toEqual([])

    // The same appends succeed when the disk works: nothing of the failed ones is in a cache.
    expect(await Promise.all([store.append(one), store.append(other)])).toEqual([{ ok: true }, { ok: true }])
    expect(await store.read({ sessionId: 'a', limit: 10 })).toEqual([...start.events, ...one.events])
    expect(await store.countPending()).toBe(1)
  },
)

it('a read waits for a commit in another thread', async () => {
  const starts = manyScripts().map((script) => script.start())
  failNext = { where: 'before commit', code: 'SQLITE_FULL' }
  const failed = Promise.allSettled(starts.map((start) => store.append(start)))
  await untilCommitting()
  expect(await store.countSessions()).toBe(0)
  expect(isCommitting).toBe(false)
  for (const { status } of await failed) expect(status).toBe('rejected')

  const again = Promise.all(starts.map((start) => store.append(start)))
  await untilCommitting()
  expect(await store.countSessions()).toBe(64)
  expect(await again).toEqual(starts.map(() => ({ ok: true })))
})

it('writes during a commit in another thread share the next transaction', async () => {
  const first = Promise.all(manyScripts().map((script) => store.append(script.start())))
  await untilCommitting()
  const [late, later] = [new SessionScript('late'), new SessionScript('later')]
  await Promise.all([store.append(late.start()), store.append(later.start()), first])
  expect(commits).toBe(2)
  expect(await store.countSessions()).toBe(66)
})

it('closing waits for a running commit', async () => {
  const appended = Promise.all(manyScripts().map((script) => store.append(script.start())))
  await untilCommitting()
  await store.close()
  expect(isCommitting).toBe(false)
  await appended
  store = sqliteStore({ path })
  expect(await store.countSessions()).toBe(64)
})

it('an append that was decided on a failed one conflicts', async () => {
  const script = new SessionScript('s')
  await store.append(script.start())
  failNext = { where: 'before commit', code: 'SQLITE_IOERR_WRITE' }
  const failed = store.append(script.next(text('lost')))
  await expect(failed).rejects.toThrow('the disk reported an error')
  expect(await store.append(script.next(text('on top of it')))).toEqual({ ok: false, conflict: 'seq' })
  expect(await store.append(script.attempt(1, text('again')))).toEqual({ ok: true })
})

it('finds a commit that succeeded although it reported an error', async () => {
  const script = new SessionScript('s')
  await store.append(script.start())
  failNext = { where: 'after commit', code: 'SQLITE_IOERR' }
  const append = { ...script.next(text('unknown')), kv: [{ key: 'k', value: 1, ifAbsent: true }] }
  await expect(store.append(append)).rejects.toMatchObject({ details: { outcome: 'unknown' } })
  expect(await store.append(append)).toEqual({ ok: false, conflict: 'seq' })
  expect(await store.read({ sessionId: 's', after: 1, limit: 10 })).toEqual(append.events)
  expect(await store.append(script.next(text('on top of it')))).toEqual({ ok: true })
})

it('positions of a failed write are not used again', async () => {
  failNext = { where: 'before commit', code: 'SQLITE_FULL' }
  await expect(store.kv.put('k', 1, null)).rejects.toThrow('the disk is full')
  await store.kv.put('k', 1, null)
  const { version } = (await store.kv.get('k'))!
  await store.kv.put('k', null, version)
  await store.close()
  store = sqliteStore({ path })
  await store.kv.put('k', 1, null)
  expect((await store.kv.get('k'))!.version).toBeGreaterThan(version)
})

it('an append that was rolled back is not marked as acknowledged', async () => {
  const script = new SessionScript('s')
  await store.append(script.start())
  failNext = { where: 'statement', code: 'SQLITE_FULL' }
  const append = { ...script.next(text('too much')), kv: [{ key: 'k', value: 1 }] }
  await expect(store.append(append)).rejects.toThrow('the disk is full')
  await store.kv.put('k', 1, null)
  const copy = sqliteStore({ path: copyAsKilled(path, `${path}-copy`) })
  expect(await copy.kv.get('k')).toMatchObject({ value: 1 })
  await copy.close()
})

function manyScripts(): SessionScript[] {
  return Array.from({ length: 64 }, (_, index) => new SessionScript(`s${index}`))
}

/** Resolves after the rows were written and before their commit has ended. */
async function untilCommitting(): Promise<void> {
  await new Promise<void>((resolve) => (onCommitAside = resolve))
  expect(isCommitting).toBe(true)
}

function withFailures(db: OpenDatabase): OpenDatabase {
  const failAt = (where: NonNullable<typeof failNext>['where']) => {
    if (failNext?.where !== where) return
    const { code } = failNext
    failNext = null
    throw Object.assign(new Error('injected'), { code })
  }
  return {
    ...db,
    run(sql) {
      const run = db.run(sql)
      // An append writes to this table last, so everything before it has to be rolled back.
      if (!sql.includes('INTO kv')) return run
      return (...params) => {
        failAt('statement')
        return run(...params)
      }
    },
    commit() {
      failAt('before commit')
      db.commit()
      commits += 1
      failAt('after commit')
    },
    async commitInThread() {
      isCommitting = true
      commitsAside += 1
      onCommitAside()
      try {
        // A disk takes some time, too.
        await new Promise((resolve) => setTimeout(resolve, 5))
        failAt('before commit')
        await db.commitInThread()
        commits += 1
        failAt('after commit')
      } finally {
        isCommitting = false
      }
    },
  }
}
