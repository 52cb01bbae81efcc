import { describe, expect, it } from 'vitest'
import {
  ada,
  database,
  listFiles,
  no,
  port,
  sqlite,
  testDesk,
  waiting,
  yes,
} from './test-desk.test.helper.js'

describe('[L5] keep', () => {
  it('keeps the interaction answerable; every read shows it as overdue, and there is no event', async () => {
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
    const { interaction } = await desk.as(ada).respond({ interactionId, answer: sqlite })
    expect(interaction).toMatchObject({ settlement: 'answered', answer: sqlite })
    expect(interaction).not.toHaveProperty('overdue')
  })

  it('keeps it cancellable, also after a restart', async () => {
    const { clock, open, restart } = await testDesk()
    const { interactionId } = await open('question', database, { timeoutMs: 1000, onTimeout: 'keep' })
    const desk = restart()
    await desk.ready
    clock.advance(2000)
    expect(await desk.interaction('s', interactionId)).toMatchObject({ overdue: true })
    expect((await desk.as(ada).cancel({ interactionId })).interaction).toMatchObject({
      settlement: 'cancelled',
    })
  })

  it('shows it as overdue in the error of a reprompt, too', async () => {
    const { desk, clock, open } = await testDesk()
    const { interactionId } = await open('form', port, { timeoutMs: 1000, onTimeout: 'keep' })
    clock.advance(1000)
    const wrong = desk.as(ada).respond({ interactionId, answer: { values: { port: 1e6 } } })
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
    'of a %s settles it at the deadline as that answer would, via policy and without an actor',
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

  it('does not affect a person who answers in time, and wins over a late answer', async () => {
    const { desk, clock, open } = await testDesk()
    const declared = { timeoutMs: 1000, onTimeout: { answer: { answers: [{ selected: ['Postgres'] }] } } }
    const early = await open('question', database, declared)
    await desk.as(ada).respond({ interactionId: early.interactionId, answer: sqlite })
    expect(await desk.wait(early.interactionId)).toMatchObject({ answer: sqlite, by: ada.by })
    const late = await open('question', database, declared)
    clock.jump(1000)
    await expect(
      desk.as(ada).respond({ interactionId: late.interactionId, answer: sqlite }),
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
    '%j is not a valid onTimeout',
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
  ])('an agent’s credential may not declare one for a %s', async (kind, request, answer) => {
    const { desk } = await testDesk()
    const input = { sessionId: 's', kind, request, onTimeout: { answer } }
    const opened = desk.as({ role: 'agent' }).open(input)
    await expect(opened).rejects.toMatchObject({ code: 'forbidden' })
    expect((await desk.pending()).interactions).toEqual([])
  })

  it('an agent’s credential may declare one for a question, and keep or deny for every kind', async () => {
    const { desk } = await testDesk()
    const agent = desk.as({ role: 'agent' })
    const question = { sessionId: 's', kind: 'question', request: database }
    const declared = await agent.open({ ...question, onTimeout: { answer: sqlite } })
    expect(declared.interaction).toMatchObject({ status: 'pending' })
    const approval = { sessionId: 's', kind: 'approval', request: listFiles }
    const kept = await agent.open({ ...approval, onTimeout: 'keep' })
    expect(kept.interaction).toMatchObject({ onTimeout: 'keep' })
  })
})
