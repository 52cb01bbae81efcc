import { ask, SessionScript, text, toolCall } from '@askback/core/testing'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { IdbConnection } from './connection.js'
import { indexedDbStore } from './index.js'
import { VERSION } from './schema.js'

const newName = () => `test ${crypto.randomUUID()}`
const open = (name: string, options: { version?: number; blockedMs?: number } = {}) =>
  IdbConnection.open({ name, drained: () => Promise.resolve(), ...options })

/** Opens a database as another program would, which does not close it for others. */
function openRaw(name: string, version: number, upgrade: (db: IDBDatabase) => void = () => undefined) {
  return new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open(name, version)
    request.addEventListener('upgradeneeded', () => upgrade(request.result))
    request.addEventListener('success', () => resolve(request.result))
    request.addEventListener('error', () => reject(request.error!))
  })
}

describe('two tabs with different versions', () => {
  it('the older one completes its writes, then says to reload; the newer one has everything', async () => {
    const name = newName()
    const store = await indexedDbStore({ name })
    const script = new SessionScript('s')
    await store.append(script.start())
    const submitted = [text('a'), text('b'), text('c')].map((event) => store.append(script.next(event)))
    const newer = await open(name, { version: VERSION + 1 })
    expect(await Promise.all(submitted)).toEqual([{ ok: true }, { ok: true }, { ok: true }])
    const reason = `The database ${name} was upgraded by a newer Askback in another tab: reload this page.`
    const refused = { code: 'unavailable', message: reason }
    await expect(store.append(script.next(text('d')))).rejects.toMatchObject(refused)
    await expect(store.read({ sessionId: 's', limit: 9 })).rejects.toMatchObject(refused)
    expect(await newer.db.getAll('log')).toMatchObject([1, 2, 3, 4].map((lastSeq) => ({ lastSeq })))
    newer.close()
  })

  it('the older one cannot open what a newer one has upgraded, and says so', async () => {
    const name = newName()
    const newer = await open(name, { version: VERSION + 1 })
    await expect(indexedDbStore({ name })).rejects.toMatchObject({
      code: 'unavailable',
      message: `The database ${name} is of version ${VERSION + 1}, made by a newer Askback; this page knows versions up to ${VERSION}: reload it to get the newer one.`,
    })
    newer.close()
  })

  it('the newer one does not wait for ever for a tab that does not close the database', async () => {
    const name = newName()
    await (await indexedDbStore({ name })).close()
    const older = await openRaw(name, VERSION)
    await expect(open(name, { version: VERSION + 1, blockedMs: 50 })).rejects.toMatchObject({
      code: 'unavailable',
      message: `The database ${name} must be upgraded, and another tab with an older Askback still uses it: close or reload that tab, then reload this page.`,
    })
    older.close()
    // It was given up, so it must not keep the database from the next one.
    const next = await open(name, { version: VERSION + 2 })
    next.close()
  })
})

describe('a database that cannot be used', () => {
  it('is refused if it belongs to another program', async () => {
    const name = newName()
    const other = await openRaw(name, VERSION, (db) => db.createObjectStore('diary'))
    other.close()
    await expect(indexedDbStore({ name })).rejects.toMatchObject({
      code: 'unavailable',
      message: `The database ${name} is not an Askback database: choose another name.`,
    })
  })

  it('says to reload after another tab deleted it', async () => {
    const name = newName()
    const store = await indexedDbStore({ name })
    await store.append(new SessionScript('s').start())
    await new Promise((resolve) =>
      indexedDB.deleteDatabase(name).addEventListener('success', () => resolve(undefined)),
    )
    await expect(store.countSessions()).rejects.toMatchObject({
      code: 'unavailable',
      message: `The database ${name} was deleted in another tab: reload this page.`,
    })
  })

  it.each([null, undefined])('says so if the browser has %s in its place', async (nothing) => {
    replaced(globalThis, 'indexedDB', nothing)
    await expect(indexedDbStore({ name: newName() })).rejects.toMatchObject({
      code: 'unavailable',
      message: 'There is no IndexedDB here: use this store in a browser, or use memoryStore().',
    })
  })

  it.each(['SecurityError', 'NotAllowedError', 'InvalidStateError'])(
    'says so if the browser refuses to open it with %s',
    async (name) => {
      const refuse = () => {
        throw new DOMException('no', name)
      }
      replaced(globalThis, 'indexedDB', { open: refuse })
      await expect(indexedDbStore({ name: newName() })).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining('the browser blocks storage for this page') as unknown,
      })
    },
  )

  it.each(['', 7])('is refused if its name is %j', async (name) => {
    await expect(indexedDbStore({ name: name as string })).rejects.toMatchObject({ code: 'invalid_request' })
  })
})

describe('a write', () => {
  it('is synced to the disk before it is acknowledged', async () => {
    const transaction = vi.spyOn(IDBDatabase.prototype, 'transaction')
    onTestFinished(() => transaction.mockRestore())
    const store = await indexedDbStore({ name: newName() })
    await store.append(new SessionScript('s').start())
    await store.kv.put('k', 1, null)
    await store.erase('s')
    await store.close()
    const writes = transaction.mock.calls.filter(([, mode]) => mode === 'readwrite')
    expect(writes.map(([, , options]) => options)).toEqual(writes.map(() => ({ durability: 'strict' })))
    expect(writes).toHaveLength(3)
  })

  it('shares a transaction with those that were submitted at the same time', async () => {
    const store = await indexedDbStore({ name: newName() })
    const transaction = vi.spyOn(IDBDatabase.prototype, 'transaction')
    onTestFinished(() => transaction.mockRestore())
    const scripts = Array.from({ length: 20 }, (_, index) => new SessionScript(`s${index}`))
    await Promise.all(scripts.map((script) => store.append(script.start())))
    expect(transaction).toHaveBeenCalledTimes(1)
    await store.close()
  })

  it.each(['locks', 'BroadcastChannel'])('needs no %s', async (missing) => {
    replaced(missing === 'locks' ? navigator : globalThis, missing, undefined)
    const store = await indexedDbStore({ name: newName() })
    expect(await store.append(new SessionScript('s').start())).toEqual({ ok: true })
    expect(await store.countSessions()).toBe(1)
    await store.close()
  })

  it('needs no BroadcastChannel that the browser refuses to make', async () => {
    replaced(globalThis, 'BroadcastChannel', function () {
      throw new DOMException('no', 'SecurityError')
    })
    const store = await indexedDbStore({ name: newName() })
    expect(await store.append(new SessionScript('s').start())).toEqual({ ok: true })
    await store.close()
  })

  it('does not wait for ever for a tab that is frozen while it has the lock', async () => {
    const name = newName()
    let thaw = () => {}
    const frozen = new Promise<void>((resolve) => (thaw = resolve))
    const held = navigator.locks.request(`askback/${name}/writer`, () => frozen)
    const store = await indexedDbStore({ name })
    const script = new SessionScript('s')
    await store.append(script.start())
    await store.append(script.next(text('a')))
    expect(await store.read({ sessionId: 's', limit: 9 })).toHaveLength(2)
    await store.close()
    thaw()
    await held
  })

  it('that does not fit is refused whole, at whichever part the space ends, and the next one is stored', async () => {
    const store = await indexedDbStore({ name: newName() })
    const script = new SessionScript('s')
    const started = script.start()
    const asking = { ...script.next(...ask('i'), toolCall('c')), kv: [{ key: 'session/s/k', value: 1 }] }
    // oxlint-disable-next-line typescript/unbound-method -- called with the object store below
    const { put } = IDBObjectStore.prototype
    let left = Infinity
    const spy = vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementation(function (
      this: IDBObjectStore,
      ...args
    ) {
      if (--left < 0) throw new DOMException('no more space', 'QuotaExceededError')
      return put.apply(this, args)
    })
    onTestFinished(() => spy.mockRestore())
    await store.append(started)
    const everything = async () => [
      await store.read({ sessionId: 's', limit: 9 }),
      await store.pending({ limit: 9 }),
      await store.kv.list(''),
      await store.toolCall('s', 'c'),
      await store.changes({ limit: 9 }),
      await store.session('s'),
      await store.head(),
    ]
    const before = await everything()
    let points = 0
    for (let isStored = false; !isStored; points++) {
      left = points
      try {
        await store.append(asking)
        isStored = true
      } catch (error) {
        expect(error).toMatchObject({ message: expect.stringContaining('is full: the browser') as unknown })
        left = Infinity
        expect(await everything()).toEqual(before)
      }
    }
    expect(points).toBeGreaterThan(4)
    expect(await store.read({ sessionId: 's', limit: 9 })).toHaveLength(1 + asking.events.length)
    await store.close()
  })

  it('that fails does not fail those in its transaction', async () => {
    const store = await indexedDbStore({ name: newName() })
    const bad = { toJSON: () => 'not text', run: () => undefined } as unknown as string
    const results = await Promise.allSettled([
      store.kv.put('a', 1, null),
      store.locks!.acquire('s', bad, 1),
      store.kv.put('b', 2, null),
    ])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect((await store.kv.list('')).map(({ key }) => key)).toEqual(['a', 'b'])
    await store.close()
  })
})

/** Replaces a global for this test. */
function replaced(owner: object, name: string, value: unknown): void {
  const before = Object.getOwnPropertyDescriptor(owner, name)
  Object.defineProperty(owner, name, { value, configurable: true })
  onTestFinished(() => {
    if (before) Object.defineProperty(owner, name, before)
    else Reflect.deleteProperty(owner, name)
  })
}
