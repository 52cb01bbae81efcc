import type { Store } from '@askback/core'
import { SessionScript, storeContract, text } from '@askback/core/testing'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { sqliteStore } from './index.js'
import { testFolder } from './testing/files.js'

const folder = testFolder()
afterAll(folder.remove)

let files = 0
const newFile = () => join(folder.path, `${files++}.db`)

storeContract('the SQLite store', () => sqliteStore({ path: newFile() }))
storeContract('the SQLite store that commits in another thread', () =>
  sqliteStore({ path: newFile(), commitInThread: true }),
)

describe('the SQLite store, opened again', () => {
  it('has the same content', async () => {
    const path = newFile()
    const before = sqliteStore({ path })
    const script = new SessionScript('s')
    await before.append({ ...script.start(), kv: [{ key: 'k', value: 1 }] })
    await before.append(script.next(text('a'), text('b')))
    await before.saveSnapshot('s', { seq: 2, version: 1, state: { some: 'state' } })
    const contents = await contentsOf(before)
    await before.close()

    const after = sqliteStore({ path })
    expect(await contentsOf(after)).toEqual(contents)
    expect(await after.append(script.attempt(2, text('stale')))).toEqual({ ok: false, conflict: 'seq' })
    expect(await after.append(script.next(text('c')))).toEqual({ ok: true })
    await after.close()
  })

  it('uses no cursor or version again, also after an erasure', async () => {
    const path = newFile()
    const before = sqliteStore({ path })
    await before.append(new SessionScript('s').start())
    await before.kv.put('k', 1, null)
    const { version } = (await before.kv.get('k'))!
    const head = await before.head()
    await before.kv.put('k', null, version)
    await before.erase('s')
    await before.close()

    const after = sqliteStore({ path })
    const first = new SessionScript('s').start()
    await after.append(first)
    await after.kv.put('k', 1, null)
    expect(await after.changes({ after: head, limit: 10 })).toMatchObject([{ events: first.events }])
    expect((await after.kv.get('k'))!.version).toBeGreaterThan(version)
    await after.close()
  })
})

async function contentsOf(store: Store) {
  return {
    events: await store.read({ sessionId: 's', limit: 100 }),
    session: await store.session('s'),
    snapshot: await store.loadSnapshot('s'),
    changes: await store.changes({ limit: 100 }),
    head: await store.head(),
    keys: await store.kv.list(''),
  }
}
