import { describe, expect, it } from 'vitest'
import {
  ada,
  bob,
  database,
  isOver,
  listFiles,
  no,
  port,
  sqlite,
  testDesk,
  tick,
  waiting,
  yes,
} from './test-desk.test.helper.js'

describe('an interaction from request to settlement', () => {
  it('[L1] [L2] is opened in one append and settled in another, which includes the waiter’s claim', async () => {
    const { desk, store, open } = await testDesk()
    const { interactionId } = await open('question', database)
    const { settlement } = await waiting(desk, interactionId)
    await desk.as(ada).respond({ interactionId, answer: sqlite })
    expect(await settlement).toMatchObject({ settlement: 'answered', answer: sqlite, ...ada })
    const appends = await store.changes({ limit: 100 })
    expect(appends.map(({ events }) => events.map((event) => event.type))).toEqual([
      ['session_started'],
      ['interaction_pending', 'interaction_request', 'session_status'],
      ['interaction_response', 'interaction_pending', 'interaction_delivered', 'session_status'],
    ])
  })

  it('[L1] [L2] has its ids and the reason in every event', async () => {
    const { desk, clock, open, events } = await testDesk()
    const asked = {
      toolCallId: 't1',
      toolName: 'Bash',
      turnId: 'turn',
      responseId: 'response',
      agentId: 'sub',
    }
    const { interactionId, digest } = await open('approval', listFiles, asked)
    await desk.as(ada).respond({ interactionId, answer: { ...no, message: 'Not now.' } })
    const anchored = {
      interactionId,
      toolCallId: 't1',
      toolName: 'Bash',
      turnId: 'turn',
      responseId: 'response',
    }
    const expiresAt = clock.now() + 600_000
    const logged = (await events(1)).filter((event) => event.type !== 'session_status')
    expect(logged).toMatchObject([
      { ...anchored, pending: true, presentation: 'tool', reason: 'requested', expiresAt },
      { ...anchored, kind: 'approval', presentation: 'tool', request: listFiles, digest, agentId: 'sub' },
      {
        ...anchored,
        kind: 'approval',
        settlement: 'denied',
        answer: no,
        message: 'Not now.',
        digest,
        ...ada,
      },
      { ...anchored, pending: false, presentation: 'tool', reason: 'denied' },
    ])
    expect(logged[1]).toMatchObject({ requestedAt: clock.now(), expiresAt, onTimeout: 'deny' })
  })

  it('has events that are numbered from 1 without gaps, each with its own id and the time of the desk', async () => {
    const { desk, clock, open, events } = await testDesk()
    clock.jump(5)
    for (let count = 0; count < 3; count++) {
      const { interactionId } = await open('question', database)
      await desk.as(ada).respond({ interactionId, answer: sqlite })
    }
    const all = await events()
    expect(all.map((event) => event.seq)).toEqual(all.map((_, index) => index + 1))
    expect(new Set(all.map((event) => event.id)).size).toBe(all.length)
    expect(new Set(all.slice(1).map((event) => event.at))).toEqual(new Set([clock.now()]))
  })

  it.each([
    ['question', database, sqlite, 'answered', 'questionnaire'],
    ['approval', listFiles, yes, 'approved', 'tool'],
    ['approval', listFiles, no, 'denied', 'tool'],
    ['plan_review', { plan: 'Do it.' }, { decision: 'edit' }, 'approved', 'questionnaire'],
    ['plan_review', { plan: 'Do it.' }, { decision: 'adjust', feedback: 'Less.' }, 'denied', 'questionnaire'],
    ['form', port, { values: { port: 1 } }, 'answered', 'questionnaire'],
  ])('a %s about %j, answered %j, settles %s', async (kind, request, answer, settlement, presentation) => {
    const { desk, open } = await testDesk()
    const asked = await open(kind, request)
    expect(asked).toMatchObject({ kind, presentation, request, status: 'pending', toolName: kind })
    const { interaction } = await desk.as(ada).respond({ interactionId: asked.interactionId, answer })
    expect(interaction).toMatchObject({ status: 'settled', settlement, answer, ...ada })
    expect(await desk.interaction('s', asked.interactionId)).toEqual(interaction)
  })

  it('a cancel settles cancelled, with the person and the reason, and without an answer', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('question', database)
    const { settlement } = await waiting(desk, interactionId)
    await desk.as(ada).cancel({ interactionId, message: 'Never mind.' })
    const settled = await settlement
    expect(settled).toMatchObject({ settlement: 'cancelled', message: 'Never mind.', ...ada })
    expect(settled.interaction).not.toHaveProperty('answer')
  })
})

describe('concurrent commands', () => {
  it('[L3] the first answer wins, and every other caller gets the winner', async () => {
    const { desk, open, types } = await testDesk()
    const { interactionId } = await open('approval', listFiles)
    const { settlement } = await waiting(desk, interactionId)
    const answers = [ada, bob, bob].map((who, index) =>
      desk.as(who).respond({ interactionId, answer: index === 0 ? no : yes }),
    )
    const [first, ...others] = await Promise.allSettled(answers)
    expect(first).toMatchObject({ status: 'fulfilled' })
    const winner = { interactionId, settlement: 'denied', by: ada.by }
    for (const other of others) {
      expect(other).toMatchObject({ reason: { code: 'already_settled', details: { interaction: winner } } })
    }
    expect(await settlement).toMatchObject({ settlement: 'denied', by: ada.by })
    expect((await types()).filter((type) => type === 'interaction_response')).toHaveLength(1)
  })

  it('[L3] a repeated answer learns that the first one was accepted', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('question', database)
    await desk.as(ada).respond({ interactionId, answer: sqlite })
    await expect(desk.as(ada).respond({ interactionId, answer: sqlite })).rejects.toMatchObject({
      code: 'already_settled',
      details: { interaction: { interactionId, settlement: 'answered', answer: sqlite, by: ada.by } },
    })
  })

  it('[L3] a late cancel gets the winner, too', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('question', database)
    await desk.as(ada).respond({ interactionId, answer: sqlite })
    const late = desk.as(bob).cancel({ interactionId })
    await expect(late).rejects.toMatchObject({
      code: 'already_settled',
      details: { interaction: { answer: sqlite } },
    })
  })

  it('parallel requests of one tool call are answered independently', async () => {
    const { desk, open } = await testDesk()
    const ids = await Promise.all(
      [1, 2, 3].map(async () => (await open('approval', listFiles, { toolCallId: 't' })).interactionId),
    )
    expect(new Set(ids).size).toBe(3)
    const [one, two, three] = ids
    await desk.as(ada).respond({ interactionId: two!, answer: no })
    expect((await desk.pending()).interactions.map((item) => item.interactionId)).toEqual([one, three])
  })

  it('an interaction that never existed is not_found, not already_settled', async () => {
    const { desk, open } = await testDesk()
    await desk.createSession({ id: 'other' })
    const { interactionId } = await open('question', database)
    const calls = [
      desk.as(ada).respond({ interactionId: 'nope', answer: sqlite }),
      desk.as(ada).respond({ sessionId: 's', interactionId: 'nope', answer: sqlite }),
      desk.as(ada).respond({ sessionId: 'other', interactionId, answer: sqlite }),
      desk.as(ada).respond({ sessionId: 'nope', interactionId, answer: sqlite }),
      desk.as(ada).cancel({ sessionId: 'other', interactionId }),
      desk.wait('nope'),
      desk.wait(interactionId, { sessionId: 'other' }),
      desk.interaction('other', interactionId),
      desk.interaction('s', 'nope'),
    ]
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'not_found' })
    expect(await desk.interaction('s', interactionId)).toMatchObject({ status: 'pending' })
  })

  it('all waiters get the settlement, and only the first may act', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('approval', listFiles)
    const all = [await waiting(desk, interactionId), await waiting(desk, interactionId)]
    const watched = desk.wait(interactionId, { sessionId: 's', claim: false })
    await tick()
    await desk.as(ada).respond({ interactionId, answer: yes })
    expect(await Promise.all(all.map(({ settlement }) => settlement))).toMatchObject([
      { settlement: 'approved', inDoubt: false },
      { settlement: 'approved', inDoubt: true },
    ])
    expect(await watched).toMatchObject({ settlement: 'approved' })
  })
})

describe('[L9] an invalid answer', () => {
  it.each([
    ['question', database, { answers: [{ selected: ['MySQL'] }] }],
    ['question', database, { answers: [] }],
    ['question', database, { answers: [{ selected: ['SQLite'] }, { selected: ['SQLite'] }] }],
    ['question', database, yes],
    ['question', database, 'SQLite'],
    ['question', database, null],
    ['approval', listFiles, { decision: 'yes' }],
    ['approval', listFiles, { ...yes, scope: 'forever' }],
    ['approval', listFiles, { ...yes, extra: true }],
    ['plan_review', { plan: 'Do it.' }, { decision: 'adjust' }],
    ['plan_review', { plan: 'Do it.' }, { decision: 'approve' }],
    ['form', port, { values: { host: 'x' } }],
    ['form', port, { values: { port: '1' } }],
    ['form', port, { port: 1 }],
  ])('to a %s leaves it pending', async (kind, request, answer) => {
    const { desk, open, seq } = await testDesk()
    const { interactionId } = await open(kind, request)
    const { settlement } = await waiting(desk, interactionId)
    const before = await seq()
    await expect(desk.as(ada).respond({ interactionId, answer })).rejects.toMatchObject({
      code: 'invalid_answer',
    })
    expect(await seq()).toBe(before)
    expect(await desk.interaction('s', interactionId)).toMatchObject({ status: 'pending' })
    expect(await isOver(settlement)).toBe(false)
  })
})
