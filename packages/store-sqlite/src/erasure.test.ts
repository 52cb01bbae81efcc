import { answer, ask, SessionScript, text, toolCall } from '@askback/core/testing'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { erasure } from './erasure.js'
import { openDatabase } from './open.js'
import { createStore, sqliteStore } from './sqlite-store.js'
import { testFolder } from './testing/files.js'

let work: ReturnType<typeof testFolder>
let folder: string
let path: string

beforeEach(() => {
  work = testFolder()
  folder = work.path
  path = join(folder, 'askback.db')
})
afterEach(() => work.remove())

it('leaves no word of the session on the disk', async () => {
  const store = sqliteStore({ path })
  await fill(store, 'gone', 'rosebud')
  await fill(store, 'kept', 'snow globe')
  await store.erase('gone')
  expect(onDisk('rosebud')).toBe(false)
  expect(onDisk('snow globe')).toBe(true)
  await store.close()
})

it.each(Array.from({ length: 12 }, (_, index) => 5 + index * 5))(
  'leaves none in pages through which its rows were moved, with texts of %i words',
  async (words) => {
    const store = sqliteStore({ path })
    await fill(store, 'gone', 'rosebud', 20, words)
    await fill(store, 'kept', 'snow globe', 20, words)
    await store.erase('gone')
    expect(onDisk('rosebud')).toBe(false)
    await store.close()
  },
)

it('runs in small transactions, between which others write', async () => {
  const store = sqliteStore({ path })
  await fill(store, 'gone', 'rosebud', 3000)
  const order: string[] = []
  const erased = store.erase('gone').then(() => order.push('erased'))
  const script = new SessionScript('other')
  for (let index = 0; index < 5; index++) {
    await store.append(index === 0 ? script.start() : script.next(text('x')))
    order.push('appended')
  }
  await erased
  expect(order).toEqual([...Array<string>(5).fill('appended'), 'erased'])
  await store.close()
})

it('that is repeated while it runs ends with the first one', async () => {
  const store = sqliteStore({ path })
  await fill(store, 'gone', 'rosebud', 3000)
  const order: string[] = []
  const first = store.erase('gone').then(() => order.push('first'))
  const second = store.erase('gone').then(() => {
    order.push(onDisk('rosebud') ? 'second, too early' : 'second')
  })
  await Promise.all([first, second])
  expect(order.toSorted()).toEqual(['first', 'second'])
  await store.close()
})

it('is finished after the next start if a crash interrupted it, and hidden until then', async () => {
  const before = sqliteStore({ path })
  await fill(before, 'gone', 'rosebud', 300)
  await before.close()
  const db = openDatabase(path)
  const [key] = db.get<[number]>('SELECT key FROM sessions')()!
  erasure(db).hide(key)
  db.run('DELETE FROM kv')()
  db.close()

  const store = sqliteStore({ path })
  expect(await store.countPending()).toBe(0)
  expect((await store.pending({ limit: 10 })).items).toEqual([])
  expect(await store.interaction('open')).toBeNull()
  expect(await store.changes({ limit: 10 })).toEqual([])
  expect(await store.deadlines()).toEqual([])
  for (let turn = 0; turn < 10; turn++)
    await store.kv.put('turn', turn, turn === 0 ? null : (await store.kv.get('turn'))!.version)
  await store.close()
  expect(onDisk('rosebud')).toBe(false)
})

it.each(['before', 'after'])('a second erasure finishes one that failed %s a commit', async (when) => {
  for (let failing = 1; failing <= 4; failing++) {
    const db = openDatabase(join(folder, `${when}-${failing}.db`))
    let left = Infinity
    const fail = () => {
      throw Object.assign(new Error('injected'), { code: 'SQLITE_FULL' })
    }
    const commit = () => {
      const isFailing = --left === 0
      if (isFailing && when === 'before') fail()
      db.commit()
      if (isFailing) fail()
    }
    const store = createStore({ ...db, commit })
    await fill(store, 'gone', 'rosebud')
    left = failing
    await expect(store.erase('gone')).rejects.toThrow('the disk is full')
    await store.erase('gone')
    expect(onDisk('rosebud')).toBe(false)
    await store.close()
  }
})

async function fill(
  store: ReturnType<typeof sqliteStore>,
  sessionId: string,
  word: string,
  appends = 20,
  words = 20,
): Promise<void> {
  const script = new SessionScript(sessionId)
  const id = (name: string) => (sessionId === 'gone' ? name : `${sessionId}-${name}`)
  await store.append({
    ...script.start({ title: word }),
    kv: [{ key: `session/${sessionId}/k`, value: word }],
  })
  await store.append(
    script.next(...ask(id('open'), { request: word, expiresAt: 5 }), ...ask(id('done')), toolCall(word)),
  )
  await store.append(script.next(...answer(id('done'), { message: word })))
  await store.saveSnapshot(sessionId, { seq: 3, version: 1, state: { word } })
  await Promise.all(
    Array.from({ length: appends }, () => store.append(script.next(text(word.repeat(words))))),
  )
}

function onDisk(word: string): boolean {
  return readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(word))
}
