import { describe, expect, it } from 'vitest'
import { createDesk, memoryStore } from './index.js'
import { countingIds, fakeClock } from './testing/fake-clock.js'

const which = {
  questions: [
    {
      header: 'DB',
      question: 'Which database?',
      options: [{ label: 'Postgres' }, { label: 'SQLite' }],
      multiSelect: false,
    },
  ],
}
const me = { by: { id: 'me' }, via: 'direct' } as const

function setUp() {
  const store = memoryStore()
  const clock = fakeClock()
  const desk = createDesk({ store, clock, newId: countingIds() })
  const log = async (sessionId: string) => {
    const events = await store.read({ sessionId, limit: 1000 })
    return events.map((event) => event.type)
  }
  return { store, clock, desk, log }
}

async function untilPending(desk: ReturnType<typeof createDesk>, count = 1) {
  for (;;) {
    const { interactions } = await desk.pending()
    // Whoever asked gets to wait for it, too, before anyone answers.
    await new Promise((resolve) => setTimeout(resolve))
    if (interactions.length >= count) return interactions
  }
}

describe('asking and answering', () => {
  it('[L1] [L2] resumes the asker with what the person chose, and logs it in order', async () => {
    const { desk, log } = setUp()
    const asked = desk.session('s').ask(which)
    const [item] = await untilPending(desk)
    await desk.respond({
      ...me,
      interactionId: item!.interactionId,
      answer: { answers: [{ selected: ['SQLite'] }] },
    })
    expect(await asked).toMatchObject({
      settlement: 'answered',
      answer: { answers: [{ selected: ['SQLite'] }] },
    })
    expect(await log('s')).toEqual([
      'session_started',
      'interaction_pending',
      'interaction_request',
      'session_status',
      'interaction_response',
      'interaction_pending',
      'interaction_delivered',
      'session_status',
    ])
  })

  it('[L3] lets the first answer win and shows the winner to everyone else', async () => {
    const { desk } = setUp()
    void desk.session('s').ask(which)
    const [item] = await untilPending(desk)
    const { interactionId } = item!
    const answers = ['Postgres', 'SQLite', 'Postgres'].map((label) =>
      desk.respond({ ...me, interactionId, answer: { answers: [{ selected: [label] }] } }),
    )
    const results = await Promise.allSettled(answers)
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    expect(results[1]).toMatchObject({
      reason: {
        code: 'already_settled',
        details: { interaction: { answer: { answers: [{ selected: ['Postgres'] }] } } },
      },
    })
  })

  it('[L4] settles a timeout as such, without an answer', async () => {
    const { desk, clock } = setUp()
    const asked = desk.session('s').ask({ ...which, timeoutMs: 1000 })
    await untilPending(desk)
    clock.advance(1000)
    const settled = await asked
    expect(settled.settlement).toBe('timed_out')
    expect(settled.interaction.answer).toBeUndefined()
  })

  it('[L4] refuses an answer after the deadline even if no timer has fired', async () => {
    const { desk, clock } = setUp()
    const asked = desk.session('s').ask({ ...which, timeoutMs: 1000 })
    const [item] = await untilPending(desk)
    clock.jump(1000)
    const late = desk.respond({
      ...me,
      interactionId: item!.interactionId,
      answer: { answers: [{ selected: ['SQLite'] }] },
    })
    await expect(late).rejects.toMatchObject({
      code: 'already_settled',
      details: { interaction: { settlement: 'timed_out' } },
    })
    expect((await asked).settlement).toBe('timed_out')
  })

  it('[L9] refuses an answer that does not fit and leaves the interaction pending', async () => {
    const { desk } = setUp()
    void desk.session('s').ask(which)
    const [item] = await untilPending(desk)
    const answer = { answers: [{ selected: ['MySQL'] }] }
    await expect(desk.respond({ ...me, interactionId: item!.interactionId, answer })).rejects.toMatchObject({
      code: 'invalid_answer',
    })
    expect((await desk.pending()).interactions).toHaveLength(1)
  })
})
