import { describe, expect, it } from 'vitest'
import {
  ada,
  database,
  isOver,
  listFiles,
  no,
  port,
  sqlite,
  testDesk,
  waiting,
  yes,
} from './test-desk.test.helper.js'

const MINUTE = 60_000

describe('[L5] a deadline', () => {
  it('is ten minutes of the desk’s time away unless said otherwise', async () => {
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
    'is not %j milliseconds away',
    async (timeoutMs) => {
      const { open } = await testDesk()
      const opened = open('question', database, { timeoutMs: timeoutMs as number })
      await expect(opened).rejects.toMatchObject({ code: 'invalid_request' })
    },
  )

  it('waits forever if there is none', async () => {
    const { desk, clock, open } = await testDesk()
    const { interactionId } = await open('question', database, { timeoutMs: null })
    const { settlement } = await waiting(desk, interactionId)
    clock.advance(365 * 24 * 60 * MINUTE)
    expect(await isOver(settlement)).toBe(false)
    await desk.respond({ ...ada, interactionId, answer: sqlite })
    expect(await settlement).toMatchObject({ settlement: 'answered' })
  })
})

describe('[L4] at the deadline', () => {
  it('lesson 25: it settles timed_out, which is neither a cancel nor a denial, and has no answer and no actor', async () => {
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
    'only its own outcome can settle it, whether the timer has fired or not: %s comes too late',
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
        respond: () => desk.respond({ ...ada, interactionId, answer: sqlite }),
        cancel: () => desk.cancel({ ...ada, interactionId }),
        progress: () => desk.progress({ sessionId, interactionId, answers: [] }),
        interrupt: () => desk.interrupt(sessionId, ada),
        clear: () => desk.clear(sessionId, ada),
        tool_result: () =>
          desk.report({
            sessionId,
            events: [{ type: 'tool_result', toolCallId: 't', output: '', isError: true }],
          }),
        error: () =>
          desk.report({ sessionId, events: [{ type: 'error', code: 'x', message: 'x', fatal: true }] }),
        message: () => desk.message({ ...ada, sessionId, text: 'SQLite' }),
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

  it('whoever answers too late gets what happened', async () => {
    const { desk, clock, open } = await testDesk()
    const { interactionId } = await open('question', database, { timeoutMs: 1000 })
    clock.jump(1000)
    const late = () => desk.respond({ ...ada, interactionId, answer: sqlite })
    const refused = {
      code: 'already_settled',
      details: { interaction: { interactionId, settlement: 'timed_out' } },
    }
    await expect(late()).rejects.toMatchObject(refused)
    await expect(late()).rejects.toMatchObject(refused)
  })

  it('a message goes to the agent when all that would have taken it has expired', async () => {
    const { desk, clock, open, types, seq } = await testDesk()
    await open('question', database, { timeoutMs: 1000 })
    await open('approval', listFiles, { timeoutMs: 1000 })
    clock.jump(1000)
    const before = await seq()
    expect(await desk.message({ ...ada, sessionId: 's', text: 'SQLite' })).toMatchObject({ routed: 'agent' })
    expect(await types(before)).toEqual([
      'interaction_response',
      'interaction_pending',
      'interaction_response',
      'interaction_pending',
      'user_message',
      'session_status',
    ])
  })

  it('each has its own, whatever the order they were opened in', async () => {
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

  it('lesson 26: an answer leaves no timer that settles it again', async () => {
    const { desk, clock, open, seq } = await testDesk()
    const { interactionId } = await open('question', database, { timeoutMs: 1000 })
    await desk.respond({ ...ada, interactionId, answer: sqlite })
    const before = await seq()
    clock.advance(10 * MINUTE)
    expect(await isOver(desk.ready)).toBe(true)
    expect(await seq()).toBe(before)
    expect(clock.armed).toBe(0)
  })

  it('is met after a restart, for what fell due in between, too', async () => {
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

describe('[L5] keep', () => {
  it('stays answerable, is overdue in every read from then on, and leaves no event', async () => {
    const { desk, clock, open, seq } = await testDesk()
    const { interactionId } = await open('question', database, { timeoutMs: 1000, onTimeout: 'keep' })
    const before = await seq()
    const reads = async () => [
      await desk.interaction('s', interactionId),
      (await desk.pending()).interactions[0]!,
      (await desk.snapshot('s')).state.pending[0]!,
    ]
    for (const item of await reads()) expect(item).not.toHaveProperty('overdue')
    clock.advance(1000)
    for (const item of await reads()) expect(item).toMatchObject({ status: 'pending', overdue: true })
    expect(await seq()).toBe(before)
    const { interaction } = await desk.respond({ ...ada, interactionId, answer: sqlite })
    expect(interaction).toMatchObject({ settlement: 'answered', answer: sqlite })
    expect(interaction).not.toHaveProperty('overdue')
  })

  it('can still be cancelled, after a restart, too', async () => {
    const { clock, open, restart } = await testDesk()
    const { interactionId } = await open('question', database, { timeoutMs: 1000, onTimeout: 'keep' })
    const desk = restart()
    await desk.ready
    clock.advance(2000)
    expect(await desk.interaction('s', interactionId)).toMatchObject({ overdue: true })
    expect((await desk.cancel({ ...ada, interactionId })).interaction).toMatchObject({
      settlement: 'cancelled',
    })
  })

  it('is overdue in the error that asks again, too', async () => {
    const { desk, clock, open } = await testDesk()
    const { interactionId } = await open('form', port, { timeoutMs: 1000, onTimeout: 'keep' })
    clock.advance(1000)
    const wrong = desk.respond({ ...ada, interactionId, answer: { values: { port: 1e6 } } })
    await expect(wrong).rejects.toMatchObject({ details: { interaction: { overdue: true } } })
  })
})

describe('[L5] a declared answer', () => {
  it.each([
    ['question', database, sqlite, 'answered'],
    ['approval', listFiles, yes, 'approved'],
    ['approval', listFiles, no, 'denied'],
    ['plan_review', { plan: 'Do it.' }, { decision: 'edit' }, 'approved'],
    ['form', port, { values: { port: 80 } }, 'answered'],
  ])(
    'of a %s settles at the deadline as that answer would, by policy and by nobody',
    async (kind, request, answer, settlement) => {
      const { desk, clock, open } = await testDesk()
      const { interactionId } = await open(kind, request, { timeoutMs: 1000, onTimeout: { answer } })
      const waits = await waiting(desk, interactionId)
      clock.advance(1000)
      const settled = await waits.settlement
      expect(settled).toMatchObject({ settlement, answer, via: 'policy' })
      expect(settled).not.toHaveProperty('by')
    },
  )

  it('does not stand in the way of a person who is in time, and wins over one who is not', async () => {
    const { desk, clock, open } = await testDesk()
    const declared = { timeoutMs: 1000, onTimeout: { answer: { answers: [{ selected: ['Postgres'] }] } } }
    const early = await open('question', database, declared)
    await desk.respond({ ...ada, interactionId: early.interactionId, answer: sqlite })
    expect(await desk.wait(early.interactionId)).toMatchObject({ answer: sqlite, by: ada.by })
    const late = await open('question', database, declared)
    clock.jump(1000)
    await expect(
      desk.respond({ ...ada, interactionId: late.interactionId, answer: sqlite }),
    ).rejects.toMatchObject({
      details: { interaction: { settlement: 'answered', via: 'policy' } },
    })
  })

  it.each([
    ['question', database, { answers: [{ selected: ['MySQL'] }] }],
    ['question', database, 'SQLite'],
    ['form', port, { values: { port: 1e6 } }],
    ['form', port, { values: {} }],
    ['approval', listFiles, { ...yes, scope: 'always' }],
    ['plan_review', { plan: 'Do it.' }, { decision: 'adjust' }],
  ])('is checked when a %s is opened: %j %j is refused', async (kind, request, answer) => {
    const { desk, open } = await testDesk()
    const opened = open(kind, request, { onTimeout: { answer } })
    await expect(opened).rejects.toMatchObject({ code: 'invalid_answer' })
    expect((await desk.pending()).interactions).toEqual([])
  })

  it.each(['later', 5, { answers: [] }, { answer: sqlite, extra: 1 }, null])(
    '%j is no onTimeout',
    async (onTimeout) => {
      const { open } = await testDesk()
      await expect(open('question', database, { onTimeout })).rejects.toMatchObject({
        code: 'invalid_request',
      })
    },
  )

  it.each([
    ['approval', listFiles, yes],
    ['approval', listFiles, no],
    ['plan_review', { plan: 'Do it.' }, { decision: 'edit' }],
  ])('lesson 44: an agent’s credential may not declare one for a %s', async (kind, request, answer) => {
    const { desk, open } = await testDesk()
    const opened = open(kind, request, { onTimeout: { answer }, role: 'agent' })
    await expect(opened).rejects.toMatchObject({ code: 'forbidden' })
    expect((await desk.pending()).interactions).toEqual([])
  })

  it('an agent’s credential may declare one for a question, and keep or deny for anything', async () => {
    const { open } = await testDesk()
    expect(await open('question', database, { onTimeout: { answer: sqlite }, role: 'agent' })).toMatchObject({
      status: 'pending',
    })
    expect(await open('approval', listFiles, { onTimeout: 'keep', role: 'agent' })).toMatchObject({
      onTimeout: 'keep',
    })
  })
})
