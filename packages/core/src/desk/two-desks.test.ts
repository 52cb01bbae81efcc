import { describe, expect, it } from 'vitest'
import { createDesk, memoryStore, type AppendNotice, type Desk, type Store } from '../index.js'
import { countingIds, fakeClock } from '../testing/fake-clock.js'
import {
  ada,
  bob,
  database,
  isOver,
  listFiles,
  no,
  port,
  sqlite,
  tick,
  waiting,
  yes,
} from './test-desk.test.helper.js'

/** Two desks on one store, as two gateways on one database; with `losesDoorbells` the second gets no doorbells. */
async function twoDesks({ losesDoorbells = false } = {}) {
  const store: Store = { ...memoryStore(), shared: true }
  const clock = fakeClock()
  const errors: unknown[] = []
  const make = (prefix: string): Desk =>
    createDesk({
      store: losesDoorbells
        ? { ...store, onAppend: (_: (notice: AppendNotice) => void) => () => undefined }
        : store,
      clock,
      newId: countingIds(prefix),
      onError: (error) => errors.push(error),
    })
  const [here, there] = [make('a'), make('b')]
  await Promise.all([here.ready, there.ready])
  await here.createSession({ id: 's' })
  const open = async (desk: Desk, kind: string, request: unknown, more: object = {}) =>
    (await desk.open({ sessionId: 's', kind, request: request as never, ...more })).interaction
  return { here, there, store, clock, errors, open }
}

function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open }
}

describe('two desks on one store', () => {
  it('an answer on one resolves the waiters of the other, which claims it first', async () => {
    const { here, there, store, open } = await twoDesks()
    const { interactionId } = await open(here, 'approval', listFiles)
    const { settlement } = await waiting(here, interactionId)
    await there.as(ada).respond({ interactionId, answer: yes })
    expect(await settlement).toMatchObject({ settlement: 'approved', inDoubt: false })
    expect((await store.read({ sessionId: 's', limit: 100 })).at(-1)).toMatchObject({
      type: 'interaction_delivered',
    })
    expect(await there.wait(interactionId)).toMatchObject({ settlement: 'approved', inDoubt: true })
  })

  it('a waiter learns that the other desk deleted its session, also if no event of the end was read', async () => {
    const { here, there, open } = await twoDesks({ losesDoorbells: true })
    const { interactionId } = await open(here, 'approval', listFiles)
    const { settlement } = await waiting(here, interactionId)
    await there.as(ada).deleteSession('s')
    await here.refresh('s')
    await expect(settlement).rejects.toMatchObject({ code: 'not_found' })
  })

  it('of waiters on both, one may act', async () => {
    const { here, there, open } = await twoDesks()
    const { interactionId } = await open(here, 'approval', listFiles)
    const both = [await waiting(here, interactionId), await waiting(there, interactionId)]
    await there.as(ada).respond({ interactionId, answer: yes })
    const settled = await Promise.all(both.map(({ settlement }) => settlement))
    expect(settled.filter((one) => one.settlement === 'approved' && !one.inDoubt)).toHaveLength(1)
  })

  it('[L3] of answers on both, the first append wins, and the other desk returns it', async () => {
    const { here, there, open } = await twoDesks()
    const { interactionId } = await open(here, 'approval', listFiles)
    await there.snapshot('s')
    const [first, second] = await Promise.allSettled([
      here.as(ada).respond({ interactionId, answer: yes }),
      there.as(bob).respond({ interactionId, answer: no }),
    ])
    const fulfilled = [first, second].filter(({ status }) => status === 'fulfilled')
    expect(fulfilled).toHaveLength(1)
    const [loser] = [first, second].filter(({ status }) => status === 'rejected')
    const { settlement } = await here.interaction('s', interactionId)
    expect(loser).toMatchObject({
      reason: { code: 'already_settled', details: { interaction: { settlement } } },
    })
  })

  it('[L6] a reprompt on one moves the waiters of the other to the new interaction', async () => {
    const { here, there, open } = await twoDesks()
    const { interactionId } = await open(here, 'form', port)
    const { settlement } = await waiting(here, interactionId)
    await there
      .as(ada)
      .respond({ interactionId, answer: { values: { port: 1e6 } } })
      .catch(() => undefined)
    expect(await isOver(settlement)).toBe(false)
    const [again] = (await there.pending()).interactions
    await there.as(ada).respond({ interactionId: again!.interactionId, answer: { values: { port: 1 } } })
    expect(await settlement).toMatchObject({ settlement: 'answered', interactionId: again!.interactionId })
  })

  it('a desk that creates a session too late asks in the one that the other created', async () => {
    const { there, store, clock } = await twoDesks()
    let made = false
    const desk = createDesk({
      store: {
        ...store,
        async append(change) {
          if (!made) {
            made = true
            await there.createSession({ id: 'new' })
          }
          return store.append(change)
        },
        async session(id) {
          if (made) await there.deleteSession(id)
          return store.session(id)
        },
      },
      clock,
    })
    await desk.ready
    expect(await isOver(desk.session('new').ask(database))).toBe(false)
    expect(made).toBe(true)
    expect((await desk.pending()).interactions).toMatchObject([{ sessionId: 'new' }])
    desk.close()
  })

  it('no command is refused because of a stale state', async () => {
    const { there, store, clock } = await twoDesks()
    const appends = gate()
    const reads = gate()
    let reading = Promise.resolve()
    const slow = createDesk({
      store: {
        ...store,
        append: (change) => store.append(change).then((result) => appends.opened.then(() => result)),
        read: (query) => reading.then(() => store.read(query)),
      },
      clock,
    })
    await slow.ready
    const made = slow.createSession({ id: 'new' })
    while (!(await store.session('new'))) await tick()
    reading = reads.opened
    const asked = await there.open({ sessionId: 'new', kind: 'question', request: database })
    const { interactionId } = asked.interaction
    const answered = slow.as(ada).respond({ sessionId: 'new', interactionId, answer: sqlite })
    await tick()
    reads.open()
    await tick()
    appends.open()
    expect((await answered).interaction).toMatchObject({ settlement: 'answered' })
    await made
    slow.close()
  })

  it('a key that is written while the other desk deletes the session does not outlive it', async () => {
    const { here, there, store, clock, open } = await twoDesks()
    const own = { toolCallId: 't', attach: true }
    await open(here, 'question', database, own)
    const put: Store['kv']['put'] = async (key, value, version) => {
      if (key.startsWith('session/s/') && value !== null) await there.deleteSession('s')
      return store.kv.put(key, value, version)
    }
    const late = createDesk({ store: { ...store, kv: { ...store.kv, put } }, clock })
    await late.ready
    const again = open(late, 'question', database, { ...own, idempotencyKey: 'k' })
    await expect(again).rejects.toMatchObject({ code: 'not_found' })
    expect(await store.kv.list('session/s/')).toEqual([])
    late.close()
  })

  it('an event that one appends while the other loads the session is not missed', async () => {
    const { there, store, clock, open } = await twoDesks()
    const reads = gate()
    const read: Store['read'] = async (query) => {
      const page = await store.read(query)
      await reads.opened
      return page
    }
    const slow = createDesk({ store: { ...store, read }, clock })
    await slow.ready
    const early = slow.snapshot('s')
    await tick()
    const { interactionId } = await open(there, 'approval', listFiles)
    await tick()
    reads.open()
    await early
    expect((await slow.snapshot('s')).state.pending).toMatchObject([{ interactionId }])
    slow.close()
  })

  it('a waiter that does not claim never gets a pending interaction, although memory is behind the store', async () => {
    const { here, there, store, clock, open } = await twoDesks()
    const rings = new Set<(notice: AppendNotice) => void>()
    const looks = gate()
    const slow = createDesk({
      store: {
        ...store,
        onAppend: (listener) => {
          rings.add(listener)
          return () => rings.delete(listener)
        },
        interaction: (id) => looks.opened.then(() => store.interaction(id)),
      },
      clock,
    })
    await slow.ready
    await slow.snapshot('s')
    const { interactionId } = await open(here, 'question', database)
    const watched = slow.wait(interactionId, { sessionId: 's', claim: false })
    await tick()
    for (const ring of rings) ring({ sessionId: 's', eventId: 'of another' })
    await tick()
    await there.as(ada).respond({ interactionId, answer: sqlite })
    looks.open()
    expect((await watched).interaction).toMatchObject({ status: 'settled', settlement: 'answered' })
    slow.close()
  })

  it('both meet a deadline, and it settles once', async () => {
    const { here, there, store, clock, errors, open } = await twoDesks()
    const { interactionId } = await open(here, 'question', database, { timeoutMs: 1000 })
    await there.snapshot('s')
    const both = [await waiting(here, interactionId), await waiting(there, interactionId)]
    clock.advance(1000)
    for (const { settlement } of both) expect(await settlement).toMatchObject({ settlement: 'timed_out' })
    const events = await store.read({ sessionId: 's', limit: 100 })
    expect(events.filter((event) => event.type === 'interaction_response')).toHaveLength(1)
    expect(errors).toEqual([])
  })

  it('a desk that never used the session meets its deadline after the desk that opened it was closed', async () => {
    const { here, there, store, clock, errors, open } = await twoDesks({ losesDoorbells: true })
    const { interactionId } = await open(here, 'question', database, { timeoutMs: 60_000 })
    here.close()
    for (let seconds = 0; seconds < 60; seconds += 5) {
      clock.advance(5000)
      await tick()
    }
    await expect.poll(() => store.interaction(interactionId)).toMatchObject({ settlement: 'timed_out' })
    expect(errors).toEqual([])
    there.close()
  })

  it('deleting a session on one ends the waits of the other', async () => {
    const { here, there, open } = await twoDesks()
    const { interactionId } = await open(here, 'question', database)
    const { settlement } = await waiting(here, interactionId)
    await there.deleteSession('s')
    await tick()
    const [end] = await Promise.allSettled([settlement])
    if (end.status === 'fulfilled') expect(end.value).toMatchObject({ settlement: 'cancelled' })
    else expect(end.reason).toMatchObject({ code: 'not_found' })
    await expect(here.snapshot('s')).rejects.toMatchObject({ code: 'not_found' })
  })

  it('a request with the same key to both takes effect once', async () => {
    const { here, there } = await twoDesks()
    const send = (desk: Desk) =>
      desk.open({ sessionId: 's', kind: 'question', request: database, idempotencyKey: 'k' })
    const opened = await Promise.all([send(here), send(there)])
    expect(new Set(opened.map(({ interaction }) => interaction.interactionId)).size).toBe(1)
    expect(opened.filter(({ created }) => created)).toHaveLength(1)
  })
})

describe('lost doorbells', () => {
  it('cost latency, never data: the next poll finds the answer', async () => {
    const { here, there, clock, open } = await twoDesks({ losesDoorbells: true })
    const { interactionId } = await open(here, 'question', database)
    const { settlement } = await waiting(here, interactionId)
    await there.as(ada).respond({ interactionId, answer: sqlite })
    expect(await isOver(settlement)).toBe(false)
    clock.advance(5000)
    expect(await settlement).toMatchObject({ settlement: 'answered', answer: sqlite })
  })

  it('are harmless while a desk starts: sessions that were loaded before the first poll are read again', async () => {
    const { there, store, clock, open } = await twoDesks({ losesDoorbells: true })
    const heads = gate()
    const early = createDesk({
      store: { ...store, onAppend: () => () => undefined, head: () => heads.opened.then(() => store.head()) },
      clock,
    })
    await early.snapshot('s')
    const { interactionId } = await open(there, 'question', database)
    heads.open()
    await early.ready
    expect((await early.snapshot('s')).state.pending).toMatchObject([{ interactionId }])
    early.close()
  })

  it('a desk that got no doorbell decides on the state of the store, not on its memory', async () => {
    const { here, there, open } = await twoDesks({ losesDoorbells: true })
    const { interactionId } = await open(here, 'question', database)
    await there.as(ada).respond({ interactionId, answer: sqlite })
    await expect(here.as(bob).respond({ interactionId, answer: sqlite })).rejects.toMatchObject({
      code: 'already_settled',
      details: { interaction: { by: ada.by } },
    })
  })
})
