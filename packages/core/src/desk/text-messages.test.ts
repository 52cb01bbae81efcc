import { describe, expect, it } from 'vitest'
import { ada, bob, database, listFiles, port, testDesk, waiting, yes } from './test-desk.test.helper.js'

const two = {
  questions: [
    { header: 'Same', question: 'Which one?', options: [{ label: 'A' }, { label: 'B' }], multiSelect: false },
    { header: 'Same', question: 'Which one?', options: [{ label: 'A' }, { label: 'B' }], multiSelect: false },
  ],
}
const say = { sessionId: 's' }

describe('a message with nothing pending', () => {
  it('starts a turn of the agent', async () => {
    const { desk, events } = await testDesk({ session: { agent: 'demo' } })
    expect(await desk.as(ada).message({ ...say, text: 'Hello' })).toMatchObject({ routed: 'agent' })
    const logged = await events(1)
    expect(logged).toMatchObject([
      { type: 'user_message', text: 'Hello', by: ada.by },
      { type: 'turn_started' },
      { type: 'session_status', status: 'running' },
    ])
    expect(logged[0]!.turnId).toBe(logged[1]!.turnId)
  })

  it('belongs to the running turn', async () => {
    const { desk, events, types } = await testDesk({ session: { agent: 'demo' } })
    await desk.as(ada).message({ ...say, text: 'Hello' })
    await desk.as(ada).message({ ...say, text: 'And another thing' })
    expect(await types(4)).toEqual(['user_message'])
    const turns = new Set((await events()).flatMap(({ turnId }) => (turnId === undefined ? [] : [turnId])))
    expect(turns.size).toBe(1)
  })

  it('is only logged if there is no agent, with any route', async () => {
    const { desk, types } = await testDesk()
    expect(await desk.as(ada).message({ ...say, text: 'Hello' })).toMatchObject({ routed: 'log' })
    const again = { ...say, text: 'Anybody?', route: 'agent', idempotencyKey: 'k' } as const
    expect(await desk.as(ada).message(again)).toMatchObject({ routed: 'log', repeated: false })
    expect(await desk.as(ada).message(again)).toMatchObject({ routed: 'log', repeated: true })
    expect(await types(1)).toEqual(['user_message', 'user_message'])
  })

  it('for an interaction is refused', async () => {
    const { desk, seq } = await testDesk()
    const sent = desk.as(ada).message({ ...say, text: 'Hello', route: 'interaction' })
    await expect(sent).rejects.toMatchObject({ code: 'nothing_pending' })
    expect(await seq()).toBe(1)
  })

  it.each(['', ' \n'])('cannot be %j', async (text) => {
    const { desk } = await testDesk()
    await expect(desk.as(ada).message({ ...say, text })).rejects.toMatchObject({ code: 'invalid_request' })
  })
})

describe('a message with pending interactions', () => {
  it('goes to an approval, then a plan, then a question, then a form, and the result says where', async () => {
    const { desk, open } = await testDesk()
    const text = { message: 'Who?', schema: { fields: [{ name: 'name', type: 'text' }] } }
    const form = await open('form', text)
    const question = await open('question', database)
    const plan = await open('plan_review', { plan: 'Do it.' })
    const approval = await open('approval', listFiles)
    const sent = []
    for (let count = 0; count < 5; count++)
      sent.push(await desk.as(ada).message({ ...say, text: 'Rather not' }))
    expect(sent.map(({ interactionId }) => interactionId)).toEqual([
      ...[approval, plan, question, form].map(({ interactionId }) => interactionId),
      undefined,
    ])
    expect(sent.map(({ routed }) => routed)).toEqual([
      ...Array.from({ length: 4 }, () => 'interaction'),
      'log',
    ])
  })

  it('denies the oldest approval with the text as the reason', async () => {
    const { desk, open } = await testDesk()
    const oldest = await open('approval', listFiles)
    await open('approval', listFiles)
    const { settlement } = await waiting(desk, oldest.interactionId)
    await desk.as(bob).message({ sessionId: 's', text: 'Not in this folder.' })
    expect(await settlement).toMatchObject({ settlement: 'denied', message: 'Not in this folder.', ...bob })
  })

  it.each(['yes', 'OK', 'approve', 'go ahead', '👍'])(
    '%j approves nothing and denies nothing',
    async (text) => {
      const { desk, open, seq } = await testDesk()
      await open('approval', listFiles)
      const before = await seq()
      await expect(desk.as(ada).message({ ...say, text })).rejects.toMatchObject({ code: 'needs_decision' })
      expect(await seq()).toBe(before)
    },
  )

  it('goes to the agent if its route says so', async () => {
    const { desk, open } = await testDesk({ session: { agent: 'demo' } })
    const { interactionId } = await open('approval', listFiles)
    expect(await desk.as(ada).message({ ...say, text: 'By the way', route: 'agent' })).toMatchObject({
      routed: 'agent',
    })
    expect(await desk.interaction('s', interactionId)).toMatchObject({ status: 'pending' })
  })

  it('goes to the agent if no pending interaction takes a text', async () => {
    const { desk, open } = await testDesk({ session: { agent: 'demo' } })
    await open('form', port)
    expect(await desk.as(ada).message({ ...say, text: 'Hello' })).toMatchObject({ routed: 'agent' })
    const sent = desk.as(ada).message({ ...say, text: 'Hello', route: 'interaction' })
    await expect(sent).rejects.toMatchObject({ code: 'nothing_pending' })
  })
})

describe('a message to a named interaction', () => {
  it('goes there, also if others are pending', async () => {
    const { desk, open } = await testDesk()
    await open('approval', listFiles)
    const { interactionId } = await open('question', database)
    expect(await desk.as(ada).message({ ...say, text: 'sqlite', interactionId })).toMatchObject({
      routed: 'interaction',
      interactionId,
    })
    expect(await desk.interaction('s', interactionId)).toMatchObject({
      answer: { answers: [{ selected: ['SQLite'] }] },
    })
  })

  it('is refused if that takes no text, is settled, is past its deadline or does not exist', async () => {
    const { desk, clock, open } = await testDesk()
    const form = await open('form', port)
    const settled = await open('approval', listFiles)
    await desk.as(ada).respond({ interactionId: settled.interactionId, answer: yes })
    const late = await open('question', database, { timeoutMs: 10 })
    clock.jump(10)
    const send = (interactionId: string) => desk.as(ada).message({ ...say, text: 'Hello', interactionId })
    await expect(send(form.interactionId)).rejects.toMatchObject({ code: 'nothing_pending' })
    await expect(send(settled.interactionId)).rejects.toMatchObject({
      code: 'already_settled',
      details: { interaction: { by: ada.by } },
    })
    await expect(send(late.interactionId)).rejects.toMatchObject({
      details: { interaction: { settlement: 'timed_out' } },
    })
    await expect(send('nope')).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('several questions, one at a time', () => {
  it('the log has the answers so far, also of two questions with the same text', async () => {
    const { desk, open, restart } = await testDesk()
    const { interactionId } = await open('question', two)
    expect(await desk.as(ada).message({ ...say, text: 'b' })).toMatchObject({
      routed: 'interaction',
      interactionId,
    })
    expect(await desk.interaction('s', interactionId)).toMatchObject({
      status: 'pending',
      progress: [{ selected: ['B'] }],
    })
    const again = restart()
    const { settlement } = await waiting(again, interactionId)
    await again.as(ada).message({ ...say, text: '1' })
    expect(await settlement).toMatchObject({
      answer: { answers: [{ selected: ['B'] }, { selected: ['A'] }] },
    })
  })

  it('a question index must be that of the current question', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('question', two)
    const send = (questionIndex: number) =>
      desk.as(ada).message({ ...say, text: 'A', interactionId, questionIndex })
    await expect(send(1)).rejects.toMatchObject({ code: 'invalid_request' })
    await send(0)
    await expect(send(0)).rejects.toMatchObject({ code: 'already_settled' })
    await expect(send(2)).rejects.toMatchObject({ code: 'invalid_request' })
    await send(1)
    expect(await desk.interaction('s', interactionId)).toMatchObject({ settlement: 'answered' })
  })

  it('a surface may report progress itself, but not the complete answer', async () => {
    const { desk, open, events } = await testDesk()
    const { interactionId } = await open('question', two)
    const tell = (answers: unknown) => desk.progress({ sessionId: 's', interactionId, answers })
    expect(await tell([{ selected: [], other: 'C' }])).toMatchObject({
      progress: [{ selected: [], other: 'C' }],
    })
    expect((await events()).at(-1)).toMatchObject({
      type: 'interaction_progress',
      interactionId,
      answers: [{ other: 'C' }],
    })
    const a = { selected: ['A'] }
    for (const wrong of [[a, a], [{ selected: ['Z'] }], [{}], 'A', [{ ...a, extra: 1 }]]) {
      await expect(tell(wrong)).rejects.toMatchObject({ code: 'invalid_answer' })
    }
    await tell([])
    expect(await desk.interaction('s', interactionId)).toMatchObject({ progress: [] })
  })

  it('only a question can be answered in parts', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('approval', listFiles)
    const completing = desk.progress({ sessionId: 's', interactionId, answers: [] })
    await expect(completing).rejects.toMatchObject({ code: 'invalid_request' })
  })
})
