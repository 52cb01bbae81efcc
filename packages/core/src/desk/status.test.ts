import type { SessionEvent } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { ada, database, listFiles, sqlite, testDesk, yes, type TestDesk } from './test-desk.test.helper.js'

const started = { type: 'turn_started', turnId: 'turn' } as const
const ended = (reason: 'done' | 'error' | 'interrupted') =>
  ({ type: 'turn_ended', turnId: 'turn', reason }) as const

const status = async ({ desk }: TestDesk) => (await desk.snapshot('s')).session.status
const statusesIn = (events: SessionEvent[]) =>
  events.flatMap((event) => (event.type === 'session_status' ? [event.status] : []))

describe('[L13] the status of a session', () => {
  it('without an agent is waiting while an interaction is pending, else idle', async () => {
    const test = await testDesk()
    expect(await status(test)).toBe('idle')
    const one = await test.open('question', database)
    const two = await test.open('question', database)
    expect(await status(test)).toBe('waiting')
    await test.desk.as(ada).respond({ interactionId: one.interactionId, answer: sqlite })
    expect(await status(test)).toBe('waiting')
    await test.desk.as(ada).cancel({ interactionId: two.interactionId })
    expect(await status(test)).toBe('idle')
    expect(statusesIn(await test.events())).toEqual(['waiting', 'idle'])
  })

  it('with an agent is waiting while an interaction is pending in an active turn', async () => {
    const test = await testDesk({ session: { agent: 'demo' } })
    const report = (...events: Parameters<typeof test.desk.report>[0]['events']) =>
      test.desk.report({ sessionId: 's', events })
    const early = await test.open('question', database)
    expect(await status(test)).toBe('idle')
    await report(started)
    expect(await status(test)).toBe('waiting')
    await test.desk.as(ada).respond({ interactionId: early.interactionId, answer: sqlite })
    expect(await status(test)).toBe('running')
    await test.open('question', database)
    expect(await status(test)).toBe('waiting')
    await report(ended('done'))
    expect(await status(test)).toBe('idle')
    expect(statusesIn(await test.events())).toEqual(['waiting', 'running', 'waiting', 'idle'])
  })

  it('is failed after a fatal error once the turn is over, until the next turn', async () => {
    const test = await testDesk({ session: { agent: 'demo' } })
    const error = { type: 'error', code: 'boom', message: 'Oops', fatal: true } as const
    await test.desk.report({ sessionId: 's', events: [started, error, ended('error')] })
    expect(await status(test)).toBe('failed')
    await test.desk.report({ sessionId: 's', events: [{ type: 'turn_started', turnId: 'next' }] })
    expect(await status(test)).toBe('running')
  })

  it('is the last event of the append that changes it, and in no other append', async () => {
    const test = await testDesk({ session: { agent: 'demo' } })
    await test.desk.report({ sessionId: 's', events: [started] })
    for (let count = 0; count < 2; count++) {
      const { interactionId } = await test.open('approval', listFiles)
      await test.open('question', database)
      await test.desk.as(ada).respond({ interactionId, answer: yes })
    }
    await test.desk.as(ada).interrupt('s')
    await test.desk.report({ sessionId: 's', events: [ended('interrupted')] })
    let before = 'idle'
    for (const { events } of await test.store.changes({ limit: 1000 })) {
      const last = events.at(-1)!
      expect(statusesIn(events.slice(0, -1))).toEqual([])
      if (last.type === 'session_status') {
        expect(last.status).not.toBe(before)
        before = last.status
      }
    }
    expect(statusesIn(await test.events())).toEqual(['running', 'waiting', 'running', 'idle'])
  })

  it('is the same in the log, the snapshot and the list of sessions', async () => {
    const test = await testDesk()
    await test.open('question', database)
    await test.desk.setPermissionMode('s', 'acceptEdits')
    const expected = { status: 'waiting', permissionMode: 'acceptEdits' }
    expect((await test.events()).at(-1)).toMatchObject({ type: 'session_status', ...expected })
    expect((await test.desk.snapshot('s')).session).toMatchObject(expected)
    expect((await test.desk.sessions()).items).toMatchObject([{ id: 's', ...expected }])
  })
})

describe('a session', () => {
  it('starts with session_started, and has no status event until the status changes', async () => {
    const { desk, store, clock } = await testDesk()
    const made = {
      agent: 'demo',
      title: 'Title',
      cwd: '/work',
      permissionMode: 'plan',
      model: 'small',
    } as const
    const { session, created } = await desk.createSession({ ...made, source: 'test' })
    expect(created).toBe(true)
    expect(session).toMatchObject({
      agent: 'demo',
      title: 'Title',
      cwd: '/work',
      status: 'idle',
      permissionMode: 'plan',
    })
    expect(session.createdAt).toBe(clock.now())
    expect(await store.read({ sessionId: session.id, limit: 10 })).toMatchObject([
      { seq: 1, type: 'session_started', source: 'test', ...made },
    ])
  })

  it('has a status event with its mode only when the mode changes', async () => {
    const { desk, types, seq } = await testDesk()
    await desk.setPermissionMode('s', 'plan')
    const before = await seq()
    await desk.setPermissionMode('s', 'plan')
    expect(await seq()).toBe(before)
    expect(await types(1)).toEqual(['session_status'])
  })

  it('has the time of the desk in its snapshot', async () => {
    const { desk, clock } = await testDesk()
    clock.jump(1234)
    expect(await desk.snapshot('s')).toMatchObject({ now: clock.now(), seq: 1 })
  })
})
