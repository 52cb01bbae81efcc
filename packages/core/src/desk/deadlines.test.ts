import { describe, expect, it } from 'vitest'
import { memoryStore } from '../store/memory-store.js'
import type { Store } from '../store/store.js'
import { ada, database, isOver, listFiles, sqlite, testDesk, tick, waiting } from './test-desk.test.helper.js'

const MINUTE = 60_000

describe('[L5] a deadline', () => {
  it('is ten minutes of the desk’s time away by default', async () => {
    const { clock, open } = await testDesk()
    expect(await open('question', database)).toMatchObject({
      expiresAt: clock.now() + 10 * MINUTE,
      onTimeout: 'deny',
    })
    expect(await open('question', database, { timeoutMs: 5 })).toMatchObject({ expiresAt: clock.now() + 5 })
    expect(await open('question', database, { timeoutMs: null })).not.toHaveProperty('expiresAt')
  })

  it('can have another default, or none', async () => {
    const short = await testDesk({ timeouts: { defaultMs: 1000 } })
    expect(await short.open('question', database)).toMatchObject({ expiresAt: short.clock.now() + 1000 })
    const none = await testDesk({ timeouts: { defaultMs: null } })
    expect(await none.open('question', database)).not.toHaveProperty('expiresAt')
  })

  it.each([0, -1, 1.5, Number.NaN, Infinity, 1e15, '10'])(
    'cannot be %j milliseconds away',
    async (timeoutMs) => {
      const { open } = await testDesk()
      const opened = open('question', database, { timeoutMs: timeoutMs as number })
      await expect(opened).rejects.toMatchObject({ code: 'invalid_request' })
    },
  )

  it('never comes if there is none', async () => {
    const { desk, clock, open } = await testDesk()
    const { interactionId } = await open('question', database, { timeoutMs: null })
    const { settlement } = await waiting(desk, interactionId)
    clock.advance(365 * 24 * 60 * MINUTE)
    expect(await isOver(settlement)).toBe(false)
    await desk.as(ada).respond({ interactionId, answer: sqlite })
    expect(await settlement).toMatchObject({ settlement: 'answered' })
  })
})

describe('[L4] at the deadline', () => {
  it('an interaction settles timed_out, which is neither a cancel nor a denial, and has no answer and no actor', async () => {
    const { desk, clock, open, events } = await testDesk()
    const { interactionId } = await open('approval', listFiles, { timeoutMs: 1000 })
    const { settlement } = await waiting(desk, interactionId)
    clock.advance(999)
    expect(await isOver(settlement)).toBe(false)
    clock.advance(1)
    expect(await settlement).toMatchObject({ settlement: 'timed_out', interactionId })
    const response = (await events()).find((event) => event.type === 'interaction_response')
    expect(response).toMatchObject({ settlement: 'timed_out', at: clock.now() })
    for (const field of ['answer', 'by', 'via']) expect(response).not.toHaveProperty(field)
  })

  it.each([
    'respond',
    'cancel',
    'progress',
    'interrupt',
    'clear',
    'tool_result',
    'error',
    'message',
    'another digest',
  ])(
    'only the deadline can settle it, whether the timer has fired or not: %s comes too late',
    async (how) => {
      const { desk, clock, open, events } = await testDesk()
      await desk.report({
        sessionId: 's',
        events: [{ type: 'tool_call', toolCallId: 't', toolName: 'T', input: {} }],
      })
      const { interactionId } = await open('question', database, {
        toolCallId: 't',
        attach: true,
        timeoutMs: 1000,
      })
      const { settlement } = await waiting(desk, interactionId)
      clock.jump(1000)
      const sessionId = 's'
      const ways: Record<string, () => Promise<unknown>> = {
        respond: () => desk.as(ada).respond({ interactionId, answer: sqlite }),
        cancel: () => desk.as(ada).cancel({ interactionId }),
        progress: () => desk.progress({ sessionId, interactionId, answers: [] }),
        interrupt: () => desk.as(ada).interrupt(sessionId),
        clear: () => desk.as(ada).clear(sessionId),
        tool_result: () =>
          desk.report({
            sessionId,
            events: [{ type: 'tool_result', toolCallId: 't', output: '', isError: true }],
          }),
        error: () =>
          desk.report({ sessionId, events: [{ type: 'error', code: 'x', message: 'x', fatal: true }] }),
        message: () => desk.as(ada).message({ sessionId, text: 'SQLite' }),
        'another digest': () =>
          open(
            'question',
            { questions: [{ question: 'Else?', options: [] }] },
            { toolCallId: 't', attach: true },
          ),
      }
      await ways[how]!().catch((error: unknown) => expect(error).toMatchObject({ code: 'already_settled' }))
      expect(await settlement).toMatchObject({ settlement: 'timed_out' })
      const responses = (await events()).filter((event) => event.type === 'interaction_response')
      expect(responses).toMatchObject([{ interactionId, settlement: 'timed_out' }])
    },
  )

  it('a late answer gets the settlement as an error', async () => {
    const { desk, clock, open } = await testDesk()
    const { interactionId } = await open('question', database, { timeoutMs: 1000 })
    clock.jump(1000)
    const late = () => desk.as(ada).respond({ interactionId, answer: sqlite })
    const refused = {
      code: 'already_settled',
      details: { interaction: { interactionId, settlement: 'timed_out' } },
    }
    await expect(late()).rejects.toMatchObject(refused)
    await expect(late()).rejects.toMatchObject(refused)
  })

  it('a message goes to the agent if every interaction that takes texts has expired', async () => {
    const { desk, clock, open, types, seq } = await testDesk()
    await open('question', database, { timeoutMs: 1000 })
    await open('approval', listFiles, { timeoutMs: 1000 })
    clock.jump(1000)
    const before = await seq()
    expect(await desk.as(ada).message({ sessionId: 's', text: 'SQLite' })).toMatchObject({ routed: 'log' })
    expect(await types(before)).toEqual([
      'interaction_response',
      'interaction_pending',
      'interaction_response',
      'interaction_pending',
      'user_message',
      'session_status',
    ])
  })

  it('each interaction has its own, in any order of opening', async () => {
    const { desk, clock, open } = await testDesk()
    const ids: string[] = []
    for (const timeoutMs of [300, 100, 200]) {
      ids.push((await open('question', database, { timeoutMs })).interactionId)
    }
    const waits = await Promise.all(ids.map((id) => waiting(desk, id)))
    const over: boolean[][] = []
    for (let count = 0; count < 3; count++) {
      clock.advance(100)
      over.push(await Promise.all(waits.map(({ settlement }) => isOver(settlement))))
    }
    expect(over).toEqual([
      [false, true, false],
      [false, true, true],
      [true, true, true],
    ])
  })

  it('all deadlines are met with a clock that rings at once for past times', async () => {
    const test = await testDesk()
    await test.open('question', database, { timeoutMs: 10 })
    test.clock.advance(20)
    const { clock } = test
    test.restart({
      clock: {
        now: () => clock.now(),
        alarm(at, wake) {
          if (at > clock.now()) return clock.alarm(at, wake)
          wake()
          return () => undefined
        },
      },
    })
    await test.desk.ready
    await test.open('question', database, { timeoutMs: 10 })
    clock.advance(20)
    await tick()
    expect((await test.desk.pending()).interactions).toEqual([])
  })

  it('an answer leaves no timer that would settle the interaction again', async () => {
    const { desk, clock, open, seq } = await testDesk()
    const { interactionId } = await open('question', database, { timeoutMs: 1000 })
    await desk.as(ada).respond({ interactionId, answer: sqlite })
    const before = await seq()
    clock.advance(10 * MINUTE)
    expect(await isOver(desk.ready)).toBe(true)
    expect(await seq()).toBe(before)
    expect(clock.armed).toBe(0)
  })

  it('is retried once a second, not at once, while the store cannot be written', async () => {
    const inner = memoryStore()
    let isFull = false
    let attempts = 0
    const store: Store = {
      ...inner,
      append(append) {
        if (!isFull) return inner.append(append)
        attempts++
        return Promise.reject(new Error('The disk is full.'))
      },
    }
    const { desk, clock, open } = await testDesk({ store })
    const { interactionId } = await open('question', database, { timeoutMs: 1000 })
    const { settlement } = await waiting(desk, interactionId)
    isFull = true
    for (let passed = 0; passed < 5000; passed += 10) {
      clock.advance(10)
      await tick()
    }
    expect(attempts).toBe(5)
    isFull = false
    clock.advance(1000)
    expect(await settlement).toMatchObject({ settlement: 'timed_out' })
  })

  it('is met after a restart, also if it passed in between', async () => {
    const { clock, open, restart } = await testDesk()
    const past = await open('question', database, { timeoutMs: 1000 })
    const future = await open('question', database, { timeoutMs: 5000 })
    clock.jump(2000)
    const desk = restart()
    await desk.ready
    const waits = [await waiting(desk, past.interactionId), await waiting(desk, future.interactionId)]
    clock.advance(0)
    expect(await waits[0]!.settlement).toMatchObject({ settlement: 'timed_out' })
    expect(await isOver(waits[1]!.settlement)).toBe(false)
    clock.advance(3000)
    expect(await waits[1]!.settlement).toMatchObject({ settlement: 'timed_out' })
  })
})
