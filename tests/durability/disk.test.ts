import { SessionScript, text } from '@askback/core/testing'
import { constants } from 'node:os'
import { openSync, readSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Call, Reply } from './child-store.js'
import { Child } from './child.js'
import { buildShim, bundle, workFolder } from './preparation.js'

/** As in the preloaded library. */
const fields = { syncs: 0, unsynced: 1, failSync: 2, failWrite: 3, failOpen: 4, failMainSync: 5, writes: 6 }
const { ENOSPC, EIO, EROFS } = constants.errno

const work = workFolder()
let program: string
let shim: string
let counters: number
let child: Child<Call, Reply>
let script: SessionScript
let files = 0
let path: string

beforeAll(async () => {
  program = await bundle(new URL('child-store.ts', import.meta.url), work.folder)
  shim = buildShim(work.folder)
})
afterAll(work.remove)

beforeEach(() => {
  const file = join(work.folder, `${++files}.counters`)
  writeFileSync(file, Buffer.alloc(64))
  counters = openSync(file, 'r+')
  path = join(work.folder, `${files}.db`)
  child = new Child(program, { LD_PRELOAD: shim, DISK_SHIM_COUNTERS: file })
  script = new SessionScript('s')
})
afterEach(() => child.kill())

describe('syncing', () => {
  it('happens once for each acknowledgement, and leaves nothing unsynced behind it', async () => {
    await call({ do: 'open', path })
    await call({ do: 'append', appends: [script.start()] })
    for (let index = 0; index < 20; index++) {
      const before = count('syncs')
      await call({ do: 'append', appends: [script.next(text(`${index}`))] })
      expect({ syncs: count('syncs') - before, unsynced: count('unsynced') }).toEqual({
        syncs: 1,
        unsynced: 0,
      })
    }
  })

  it.each([false, true])(
    'happens once for 64 that come at once, with commits aside: %s',
    async (commitAside) => {
      await call({ do: 'open', path, commitAside })
      const scripts = Array.from({ length: 64 }, (_, index) => new SessionScript(`s${index}`))
      await call({ do: 'append', appends: scripts.map((script) => script.start()) })
      const before = count('syncs')
      await call({ do: 'append', appends: scripts.map((script) => script.next(text('x'))) })
      expect({ syncs: count('syncs') - before, unsynced: count('unsynced') }).toEqual({
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
    '%s loses nothing that was accepted, and is used again when it works again',
    async (_how, field, errno, says) => {
      await call({ do: 'open', path })
      const accepted = [script.start(), script.next(text('accepted'))]
      await call({ do: 'append', appends: accepted })

      set(field, errno)
      for (let attempt = 0; attempt < 3; attempt++) {
        const refused = await child.call({
          do: 'append',
          appends: [script.attempt(2, text(`refused ${attempt}`))],
        })
        expect(refused).toMatchObject({ ok: false, error: { code: 'unavailable' } })
        expect(JSON.stringify(refused)).toContain(`The database ${path} ${says}.`)
      }
      expect(await call({ do: 'read', sessionId: 's' })).toEqual(accepted.flatMap(({ events }) => events))

      set(field, 0)
      const later = script.next(text('later'))
      expect(await call({ do: 'append', appends: [later] })).toEqual([{ ok: true }])
      await restart()
      expect(await call({ do: 'read', sessionId: 's' })).toEqual(
        [...accepted, later].flatMap(({ events }) => events),
      )
    },
  )

  it('that is full refuses all that were committed aside, and is used again', async () => {
    await call({ do: 'open', path, commitAside: true })
    const scripts = Array.from({ length: 64 }, (_, index) => new SessionScript(`s${index}`))
    const starts = scripts.map((script) => script.start())
    await call({ do: 'append', appends: starts })

    set('failWrite', ENOSPC)
    const appends = scripts.map((script) => script.next(text('x')))
    expect(await child.call({ do: 'append', appends })).toMatchObject({
      ok: false,
      error: { code: 'unavailable' },
    })
    expect(await call({ do: 'read', sessionId: 's63' })).toEqual(starts[63]!.events)

    set('failWrite', 0)
    expect(await call({ do: 'append', appends })).toEqual(appends.map(() => ({ ok: true })))
    await restart()
    expect(await call({ do: 'read', sessionId: 's63' })).toEqual([
      ...starts[63]!.events,
      ...appends[63]!.events,
    ])
  })

  it('that is full when the store closes keeps all for the next start', async () => {
    await call({ do: 'open', path })
    const accepted = [script.start(), script.next(text('accepted'))]
    await call({ do: 'append', appends: accepted })
    set('failWrite', ENOSPC)
    await call({ do: 'close' })
    await restart()
    expect(await call({ do: 'read', sessionId: 's' })).toEqual(accepted.flatMap(({ events }) => events))
  })

  it('that is full at a start refuses it, and the next one finds everything', async () => {
    await call({ do: 'open', path })
    const accepted = script.start()
    await call({ do: 'append', appends: [accepted] })
    await call({ do: 'close' })
    // The first start is after a clean stop, the second after a kill.
    for (let turn = 0; turn < 2; turn++) {
      await restartWithShim()
      set('failWrite', ENOSPC)
      expect(await child.call({ do: 'open', path })).toMatchObject({
        ok: false,
        error: { code: 'unavailable' },
      })
      set('failWrite', 0)
      await restartWithShim()
      await call({ do: 'open', path })
      expect(await call({ do: 'read', sessionId: 's' })).toEqual(accepted.events)
    }
  })

  it('that is full for a new database refuses it in one sentence', async () => {
    set('failWrite', ENOSPC)
    expect(await child.call({ do: 'open', path })).toEqual({
      ok: false,
      error: { code: 'unavailable', message: `The database ${path} cannot grow: the disk is full.` },
    })
  })

  it('that is read-only refuses a new database and an old one', async () => {
    set('failOpen', EROFS)
    expect(await child.call({ do: 'open', path })).toEqual({
      ok: false,
      error: { code: 'unavailable', message: `The database ${path} is on a read-only file system.` },
    })
    set('failOpen', 0)
    await call({ do: 'open', path })
    await call({ do: 'append', appends: [script.start()] })
    await call({ do: 'close' })
    set('failOpen', EROFS)
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

    set('failSync', errno)
    const inDoubt = await child.call({ do: 'append', appends: [script.attempt(2, text('in doubt'))] })
    expect(inDoubt).toMatchObject({ ok: false, error: { code: 'unavailable' } })
    expect(JSON.stringify(inDoubt)).toContain(`The database ${path} ${STOPPED}`)
    expect(JSON.stringify(inDoubt)).toContain('Whether this write survives is not known.')
    set('failSync', 0)

    // The disk works again, and what it holds of the journal cannot be known.
    const before = count('writes')
    for (let attempt = 0; attempt < 3; attempt++) {
      const refused = await child.call({ do: 'append', appends: [script.attempt(2, text('refused'))] })
      expect(JSON.stringify(refused)).toContain(`The database ${path} ${STOPPED}`)
      expect(JSON.stringify(refused)).toContain('Nothing was written.')
    }
    expect(await call({ do: 'read', sessionId: 's' })).toEqual(accepted.flatMap(({ events }) => events))
    await call({ do: 'close' })
    expect(count('writes') - before).toBe(0)

    await restart()
    const events = (await call({ do: 'read', sessionId: 's' })) as { seq: number }[]
    expect(events.slice(0, 2)).toEqual(accepted.flatMap(({ events }) => events))
    expect(await call({ do: 'append', appends: [script.attempt(events.length, text('later'))] })).toEqual([
      { ok: true },
    ])
  })

  it('stops those that were committed aside, too', async () => {
    await call({ do: 'open', path, commitAside: true })
    const scripts = Array.from({ length: 64 }, (_, index) => new SessionScript(`s${index}`))
    await call({ do: 'append', appends: scripts.map((script) => script.start()) })
    set('failSync', EIO)
    const appends = scripts.map((script) => script.next(text('x')))
    expect(JSON.stringify(await child.call({ do: 'append', appends }))).toContain(STOPPED)
    set('failSync', 0)
    expect(JSON.stringify(await child.call({ do: 'append', appends }))).toContain(STOPPED)
    await restart()
    const logs = await Promise.all(scripts.map((_, index) => call({ do: 'read', sessionId: `s${index}` })))
    const lengths = new Set(logs.map((events) => (events as unknown[]).length))
    // Whether it survives is not known, but it does as a whole or not at all.
    expect([[1], [2]]).toContainEqual([...lengths])
  })

  it('of the main file stops writing, too', async () => {
    await call({ do: 'open', path, checkpointMs: 20 })
    await call({ do: 'append', appends: [script.start()] })
    set('failMainSync', EIO)
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
  it('is told who holds the database, until that one is gone', async () => {
    const first = await call({ do: 'open', path })
    const second = new Child<Call, Reply>(program)
    const refused = await second.call({ do: 'open', path })
    expect(refused).toMatchObject({ ok: false, error: { code: 'unavailable' } })
    expect(JSON.stringify(refused)).toMatch(
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
  child = new Child(program, { LD_PRELOAD: shim, DISK_SHIM_COUNTERS: join(work.folder, `${files}.counters`) })
}

async function call(call: Call): Promise<unknown> {
  const reply = await child.call(call)
  if (!reply.ok) throw new Error(reply.error.message)
  return reply.value
}

function count(field: keyof typeof fields): number {
  const value = Buffer.alloc(4)
  readSync(counters, value, 0, 4, fields[field] * 4)
  return value.readInt32LE()
}

function set(field: keyof typeof fields, errno: number): void {
  const value = Buffer.alloc(4)
  value.writeInt32LE(errno)
  writeSync(counters, value, 0, 4, fields[field] * 4)
}
