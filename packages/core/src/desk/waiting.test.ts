import type { FormRequest } from '@askback/protocol'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { countingIds } from '../testing/fake-clock.js'
import {
  ada,
  database,
  isOver,
  listFiles,
  port,
  sqlite,
  testDesk,
  tick,
  waiting,
  yes,
} from './test-desk.test.helper.js'

describe('waiting', () => {
  it('a call of a session handle opens and waits, and creates the session if it is new', async () => {
    const { desk } = await testDesk()
    const asked = desk.session('fresh', { agent: 'demo', cwd: '/work' }).ask(database)
    await tick()
    const [item] = (await desk.pending()).interactions
    expect(item).toMatchObject({ sessionId: 'fresh', kind: 'question' })
    await desk.as(ada).respond({ interactionId: item!.interactionId, answer: sqlite })
    expect(await asked).toMatchObject({ settlement: 'answered', answer: sqlite })
    expect((await desk.snapshot('fresh')).session).toMatchObject({ agent: 'demo', cwd: '/work' })
  })

  it('works for every kind', async () => {
    const { desk } = await testDesk()
    const session = desk.session('s')
    const asked = [
      () => session.ask(database),
      () => session.approve({ toolName: 'Bash', input: 1, title: 'One' }),
      () => session.reviewPlan({ plan: 'Do it.' }),
      () => session.form({ message: 'Who?', schema: { fields: [{ name: 'name', type: 'text' }] } }),
    ]
    for (const ask of asked) expect(await isOver(ask())).toBe(false)
    const pending = await session.pending()
    expect(pending.map(({ kind, toolName }) => [kind, toolName])).toEqual([
      ['question', 'question'],
      ['approval', 'Bash'],
      ['plan_review', 'plan_review'],
      ['form', 'form'],
    ])
    expect(pending[1]!.request).toEqual({ input: 1, title: 'One' })
  })

  it('reads nothing that could fail if it is aborted before it starts', async () => {
    const test = await testDesk()
    const { interactionId } = await test.open('question', database)
    const desk = test.restart({ store: { ...test.store, read: () => Promise.reject(new Error('the disk')) } })
    await desk.ready
    const wait = desk.wait(interactionId, { signal: AbortSignal.abort(new Error('gone')), sessionId: 's' })
    await expect(wait).rejects.toThrow('gone')
    // An unhandled rejection would fail the test run.
    await tick()
  })

  it('ends with the desk, although its session was still being read', async () => {
    const test = await testDesk()
    const { interactionId } = await test.open('question', database)
    const desk = test.restart()
    await desk.ready
    const wait = desk.session('s').wait(interactionId)
    desk.close()
    await expect(wait).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('gets the settlement that it claims, although the desk is closed meanwhile', async () => {
    const { desk, events } = await testDesk()
    const approved = desk.session('s').approve({ toolName: 'Bash', ...listFiles })
    await tick()
    const [item] = (await desk.pending()).interactions
    const answered = desk.as(ada).respond({ interactionId: item!.interactionId, sessionId: 's', answer: yes })
    desk.close()
    expect(await approved).toMatchObject({ settlement: 'approved', inDoubt: false })
    await answered
    expect((await events()).at(-2)).toMatchObject({ type: 'interaction_delivered' })
  })

  it('can be aborted, although an answer failed before it was written', async () => {
    const ids = countingIds()
    let isBroken = false
    const newId = () => {
      if (isBroken) throw new Error('no more ids')
      return ids()
    }
    const { desk, open } = await testDesk({ newId })
    const { interactionId } = await open('question', database)
    const abort = new AbortController()
    const wait = desk.wait(interactionId, { signal: abort.signal, sessionId: 's' })
    isBroken = true
    const answered = desk.as(ada).respond({ sessionId: 's', interactionId, answer: sqlite })
    await expect(answered).rejects.toThrow('no more ids')
    abort.abort(new Error('gone'))
    await expect(wait).rejects.toThrow('gone')
  })

  it('returns a copy that the caller may change', async () => {
    const { desk } = await testDesk()
    const own = { toolName: 'Bash', toolCallId: 't', attach: true, input: { command: 'ls' } }
    const approved = desk.session('s').approve(own)
    await tick()
    const [item] = (await desk.pending()).interactions
    await desk.as(ada).respond({ interactionId: item!.interactionId, answer: yes })
    const settled = await approved
    if (settled.settlement !== 'approved') throw new Error(settled.settlement)
    Object.assign(settled.input as object, { timeout: 5 })
    expect(await desk.session('s').approve(own)).toMatchObject({ input: { command: 'ls' }, inDoubt: true })
  })

  it('an abort only ends the wait', async () => {
    const { desk, open, seq } = await testDesk()
    const { interactionId } = await open('question', database)
    const abort = new AbortController()
    const wait = desk.wait(interactionId, { signal: abort.signal })
    await tick()
    const before = await seq()
    abort.abort(new Error('gone'))
    await expect(wait).rejects.toThrow('gone')
    expect(await seq()).toBe(before)
    const { settlement } = await waiting(desk, interactionId)
    await desk.as(ada).respond({ interactionId, answer: sqlite })
    expect(await settlement).toMatchObject({ settlement: 'answered', answer: sqlite })
  })

  it('an abort before the wait has started ends it, too', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('question', database)
    const abort = new AbortController()
    const wait = desk.wait(interactionId, { signal: abort.signal, sessionId: 's' })
    wait.catch(() => undefined)
    abort.abort()
    expect(await isOver(wait)).toBe(true)
    await expect(wait).rejects.toMatchObject({ name: 'AbortError' })
    await expect(desk.wait(interactionId, { signal: abort.signal })).rejects.toMatchObject({
      name: 'AbortError',
    })
  })

  it('an aborted call opens nothing', async () => {
    const { desk } = await testDesk()
    const asked = desk.session('s').ask({ ...database, signal: AbortSignal.abort() })
    await expect(asked).rejects.toMatchObject({ name: 'AbortError' })
    expect((await desk.pending()).interactions).toEqual([])
  })

  it('the caller can cancel its question with a signal', async () => {
    const { desk } = await testDesk()
    const abort = new AbortController()
    const asked = desk.session('s').ask({ ...database, cancelOn: abort.signal })
    await tick()
    expect((await desk.pending()).interactions).toHaveLength(1)
    abort.abort()
    expect(await asked).toMatchObject({ settlement: 'cancelled' })
    expect((await desk.pending()).interactions).toEqual([])
    const late = desk.session('s').ask({ ...database, cancelOn: abort.signal })
    await expect(late).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('[L6] the signal also cancels a reprompted form', async () => {
    const { desk } = await testDesk()
    const abort = new AbortController()
    const asked = desk.session('s').form({ ...(port as FormRequest), cancelOn: abort.signal })
    await tick()
    const [first] = (await desk.pending()).interactions
    const answer = { values: { port: 70_000 } }
    const wrong = desk.as(ada).respond({ interactionId: first!.interactionId, answer })
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_answer' })
    abort.abort()
    expect(await asked).toMatchObject({ settlement: 'cancelled' })
    expect((await desk.pending()).interactions).toEqual([])
  })

  it('a signal after the answer changes nothing', async () => {
    const { desk } = await testDesk()
    const abort = new AbortController()
    const asked = desk.session('s').ask({ ...database, cancelOn: abort.signal })
    await tick()
    const [item] = (await desk.pending()).interactions
    await desk.as(ada).respond({ interactionId: item!.interactionId, answer: sqlite })
    abort.abort()
    expect(await asked).toMatchObject({ settlement: 'answered' })
  })

  it('an aborted waiter claims nothing, so the approval is not in doubt for the next waiter', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('approval', listFiles)
    const abort = new AbortController()
    const wait = desk.wait(interactionId, { signal: abort.signal })
    await tick()
    abort.abort()
    await expect(wait).rejects.toMatchObject({ name: 'AbortError' })
    await desk.as(ada).respond({ interactionId, answer: yes })
    expect(await desk.interaction('s', interactionId)).not.toHaveProperty('delivered')
    expect(await desk.wait(interactionId)).toMatchObject({ settlement: 'approved', inDoubt: false })
  })

  it('closing the desk rejects waiters as unavailable, and pending interactions stay pending', async () => {
    const { desk, clock, open, seq, restart } = await testDesk()
    const { interactionId } = await open('question', database)
    const { settlement } = await waiting(desk, interactionId)
    const before = await seq()
    desk.close()
    await expect(settlement).rejects.toMatchObject({ code: 'unavailable' })
    await expect(desk.as(ada).respond({ interactionId, answer: sqlite })).rejects.toMatchObject({
      code: 'unavailable',
    })
    await expect(open('question', database)).rejects.toMatchObject({ code: 'unavailable' })
    expect(clock.armed).toBe(0)
    expect(await seq()).toBe(before)
    expect((await restart().pending()).interactions).toMatchObject([{ interactionId, status: 'pending' }])
  })

  it('a desk that is closed while it starts sets no timer', async () => {
    const { desk, clock, open, restart } = await testDesk({ retentionMs: 1e9 })
    await open('question', database)
    desk.close()
    const next = restart()
    next.close()
    await next.ready
    expect(clock.armed).toBe(0)
  })
})

describe('listeners', () => {
  it('get each append when it is durable, in the order of the log', async () => {
    const { desk, store, open } = await testDesk()
    const received: number[] = []
    const checks: Promise<void>[] = []
    const off = desk.on(({ sessionId, head, events }) => {
      received.push(...events.map((event) => event.seq))
      const check = async () => expect(await store.read({ sessionId, limit: 1000 })).toHaveLength(head.seq)
      checks.push(check())
    })
    const { interactionId } = await open('question', database)
    await desk.as(ada).respond({ interactionId, answer: sqlite })
    off()
    await open('question', database)
    expect(received).toEqual([2, 3, 4, 5, 6, 7])
    await Promise.all(checks)
  })

  it('a listener that throws does not affect others', async () => {
    const { desk, open, errors } = await testDesk()
    const received: number[] = []
    desk.on(() => {
      throw new Error('oops')
    })
    desk.on(({ head }) => received.push(head.seq))
    await open('question', database)
    expect(received).toEqual([4])
    expect(errors).toMatchObject([{ message: 'oops' }])
  })
})

it('an onError that throws does not affect others', async () => {
  const report = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  onTestFinished(() => report.mockRestore())
  const fail = () => {
    throw new Error('again')
  }
  const test = await testDesk()
  const desk = test.restart({ onError: fail })
  desk.on(fail)
  const { interactionId } = await test.open('question', database)
  await desk.as(ada).respond({ interactionId, answer: sqlite })
  expect(await desk.interaction('s', interactionId)).toMatchObject({ settlement: 'answered' })
  expect(report).toHaveBeenCalled()
})
