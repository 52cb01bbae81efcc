import { SessionScript, text } from '@askback/core/testing'
import { constants } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { bundle, workFolder } from './bundle.js'
import { Child } from './child-process.js'
import type { StoreCall, StoreReply } from './child-store.js'
import { buildShim, DiskShim } from './disk-shim.js'

const { ENOSPC, EIO, EROFS } = constants.errno

const work = workFolder()
let program: string
let library: string
let shim: DiskShim
let child: Child<StoreCall, StoreReply>
let script: SessionScript
let files = 0
let path: string

beforeAll(async () => {
  program = await bundle(new URL('child-store.ts', import.meta.url), work.folder)
  library = buildShim(work.folder)
})
afterAll(work.remove)

beforeEach(() => {
  shim = new DiskShim(library, join(work.folder, `${++files}.counters`))
  path = join(work.folder, `${files}.db`)
  child = new Child(program, shim.env)
  script = new SessionScript('s')
})
afterEach(() => child.kill())

describe('syncing', () => {
  it('happens once before each acknowledgement, and leaves no write unsynced', async () => {
    await call({ do: 'open', path })
    await call({ do: 'append', appends: [script.start()] })
    for (let index = 0; index < 20; index++) {
      const before = shim.count('syncs')
      await call({ do: 'append', appends: [script.next(text(`${index}`))] })
      expect({ syncs: shim.count('syncs') - before, unsynced: shim.count('unsynced') }).toEqual({
        syncs: 1,
        unsynced: 0,
      })
    }
  })

  it.each([false, true])(
    'happens once for 64 appends at the same time, with commits in another thread: %s',
    async (commitInThread) => {
      await call({ do: 'open', path, commitInThread })
      const scripts = Array.from({ length: 64 }, (_, index) => new SessionScript(`s${index}`))
      await call({ do: 'append', appends: scripts.map((script) => script.start()) })
      const before = shim.count('syncs')
      await call({ do: 'append', appends: scripts.map((script) => script.next(text('x'))) })
      expect({ syncs: shim.count('syncs') - before, unsynced: shim.count('unsynced') }).toEqual({
        syncs: 1,
        unsynced: 0,
      })
    },
  )
})

describe('a disk', () => {
  it.each([
    ['that is full', 'failWrite', ENOSPC, 'cannot grow: the disk is full'],
    ['that cannot write', 'failWrite', EIO, 'could not be read or written: the disk reported an error'],
  ] as const)(
    '%s loses nothing that was accepted, and can be used when it works again',
    async (_how, field, errno, reason) => {
      await call({ do: 'open', path })
      const accepted = [script.start(), script.next(text('accepted'))]
      await call({ do: 'append', appends: accepted })

      shim.set(field, errno)
      for (let attempt = 0; attempt < 3; attempt++) {
        const rejected = await child.call({
          do: 'append',
          appends: [script.attempt(2, text(`rejected ${attempt}`))],
        })
        expect(rejected).toMatchObject({ ok: false, error: { code: 'unavailable' } })
        expect(JSON.stringify(rejected)).toContain(`The database ${path} ${reason}.`)
      }
      expect(await call({ do: 'read', sessionId: 's' })).toEqual(accepted.flatMap(({ events }) => events))

      shim.set(field, 0)
      const later = script.next(text('later'))
      expect(await call({ do: 'append', appends: [later] })).toEqual([{ ok: true }])
      await restart()
      expect(await call({ do: 'read', sessionId: 's' })).toEqual(
        [...accepted, later].flatMap(({ events }) => events),
      )
    },
  )

  it('that is full rejects a batch that another thread commits, and can be used afterwards', async () => {
    await call({ do: 'open', path, commitInThread: true })
    const scripts = Array.from({ length: 64 }, (_, index) => new SessionScript(`s${index}`))
    const starts = scripts.map((script) => script.start())
    await call({ do: 'append', appends: starts })

    shim.set('failWrite', ENOSPC)
    const appends = scripts.map((script) => script.next(text('x')))
    expect(await child.call({ do: 'append', appends })).toMatchObject({
      ok: false,
      error: { code: 'unavailable' },
    })
    expect(await call({ do: 'read', sessionId: 's63' })).toEqual(starts[63]!.events)

    shim.set('failWrite', 0)
    expect(await call({ do: 'append', appends })).toEqual(appends.map(() => ({ ok: true })))
    await restart()
    expect(await call({ do: 'read', sessionId: 's63' })).toEqual([
      ...starts[63]!.events,
      ...appends[63]!.events,
    ])
  })

  it('that is full when the store closes loses nothing', async () => {
    await call({ do: 'open', path })
    const accepted = [script.start(), script.next(text('accepted'))]
    await call({ do: 'append', appends: accepted })
    shim.set('failWrite', ENOSPC)
    await call({ do: 'close' })
    await restart()
    expect(await call({ do: 'read', sessionId: 's' })).toEqual(accepted.flatMap(({ events }) => events))
  })

  it('that is full at a start prevents it, and the next start finds everything', async () => {
    await call({ do: 'open', path })
    const accepted = script.start()
    await call({ do: 'append', appends: [accepted] })
    await call({ do: 'close' })
    // The first start is after a clean stop, the second after a kill.
    for (let turn = 0; turn < 2; turn++) {
      await restartWithShim()
      shim.set('failWrite', ENOSPC)
      expect(await child.call({ do: 'open', path })).toMatchObject({
        ok: false,
        error: { code: 'unavailable' },
      })
      shim.set('failWrite', 0)
      await restartWithShim()
      await call({ do: 'open', path })
      expect(await call({ do: 'read', sessionId: 's' })).toEqual(accepted.events)
    }
  })

  it('that is full prevents a new database, with one sentence', async () => {
    shim.set('failWrite', ENOSPC)
    expect(await child.call({ do: 'open', path })).toEqual({
      ok: false,
      error: { code: 'unavailable', message: `The database ${path} cannot grow: the disk is full.` },
    })
  })

  it('that is read-only prevents opening a new database and an existing one', async () => {
    shim.set('failOpen', EROFS)
    expect(await child.call({ do: 'open', path })).toEqual({
      ok: false,
      error: { code: 'unavailable', message: `The database ${path} is on a read-only file system.` },
    })
    shim.set('failOpen', 0)
    await call({ do: 'open', path })
    await call({ do: 'append', appends: [script.start()] })
    await call({ do: 'close' })
    shim.set('failOpen', EROFS)
    expect(await child.call({ do: 'open', path })).toEqual({
      ok: false,
      error: { code: 'unavailable', message: `The database ${path} is read-only.` },
    })
  })
})

describe('a sync that failed', () => {
  const STOPPED = 'could not be synced to the disk, so nothing more is written to it'

  it.each([
    ['reported an error', EIO],
    ['found the disk full', ENOSPC],
  ])('because the disk %s stops writing until the next start, and nothing is lost', async (_why, errno) => {
    await call({ do: 'open', path })
    const accepted = [script.start(), script.next(text('accepted'))]
    await call({ do: 'append', appends: accepted })

    shim.set('failSync', errno)
    const unknown = await child.call({ do: 'append', appends: [script.attempt(2, text('unknown'))] })
    expect(unknown).toMatchObject({ ok: false, error: { code: 'unavailable' } })
    expect(JSON.stringify(unknown)).toContain(`The database ${path} ${STOPPED}`)
    expect(JSON.stringify(unknown)).toContain('Whether this write survives is not known.')
    shim.set('failSync', 0)

    // The disk works again, but which part of the journal it contains is not known.
    const before = shim.count('writes')
    for (let attempt = 0; attempt < 3; attempt++) {
      const rejected = await child.call({ do: 'append', appends: [script.attempt(2, text('rejected'))] })
      expect(JSON.stringify(rejected)).toContain(`The database ${path} ${STOPPED}`)
      expect(JSON.stringify(rejected)).toContain('Nothing was written.')
    }
    expect(await call({ do: 'read', sessionId: 's' })).toEqual(accepted.flatMap(({ events }) => events))
    await call({ do: 'close' })
    expect(shim.count('writes') - before).toBe(0)

    await restart()
    const events = (await call({ do: 'read', sessionId: 's' })) as { seq: number }[]
    expect(events.slice(0, 2)).toEqual(accepted.flatMap(({ events }) => events))
    expect(await call({ do: 'append', appends: [script.attempt(events.length, text('later'))] })).toEqual([
      { ok: true },
    ])
  })

  it('in another thread stops writing, too', async () => {
    await call({ do: 'open', path, commitInThread: true })
    const scripts = Array.from({ length: 64 }, (_, index) => new SessionScript(`s${index}`))
    await call({ do: 'append', appends: scripts.map((script) => script.start()) })
    shim.set('failSync', EIO)
    const appends = scripts.map((script) => script.next(text('x')))
    expect(JSON.stringify(await child.call({ do: 'append', appends }))).toContain(STOPPED)
    shim.set('failSync', 0)
    expect(JSON.stringify(await child.call({ do: 'append', appends }))).toContain(STOPPED)
    await restart()
    const logs = await Promise.all(scripts.map((_, index) => call({ do: 'read', sessionId: `s${index}` })))
    const lengths = new Set(logs.map((events) => (events as unknown[]).length))
    // Whether the batch survives is not known, but it does completely or not at all.
    expect([[1], [2]]).toContainEqual([...lengths])
  })

  it('of the main file stops writing, too', async () => {
    await call({ do: 'open', path, checkpointMs: 20 })
    await call({ do: 'append', appends: [script.start()] })
    shim.set('failMainSync', EIO)
    await expect
      .poll(async () => {
        const seq = (await call({ do: 'read', sessionId: 's' })) as unknown[]
        return JSON.stringify(
          await child.call({ do: 'append', appends: [script.attempt(seq.length, text('x'))] }),
        )
      })
      .toContain(STOPPED)
    const events = await call({ do: 'read', sessionId: 's' })
    await restart()
    expect(await call({ do: 'read', sessionId: 's' })).toEqual(events)
  })
})

describe('a second process', () => {
  it('gets an error that names the owner of the database, until that one ends', async () => {
    const first = await call({ do: 'open', path })
    const second = new Child<StoreCall, StoreReply>(program)
    const rejected = await second.call({ do: 'open', path })
    expect(rejected).toMatchObject({ ok: false, error: { code: 'unavailable' } })
    expect(JSON.stringify(rejected)).toMatch(
      new RegExp(`is in use by process ${String(first)} on .+ since 20..-`),
    )
    await child.kill()
    expect(await second.call({ do: 'open', path })).toMatchObject({ ok: true })
    await second.kill()
  })
})

async function restart(): Promise<void> {
  await child.kill()
  child = new Child(program)
  await call({ do: 'open', path })
}

async function restartWithShim(): Promise<void> {
  await child.kill()
  child = new Child(program, shim.env)
}

async function call(call: StoreCall): Promise<unknown> {
  const reply = await child.call(call)
  if (!reply.ok) throw new Error(reply.error.message)
  return reply.value
}
