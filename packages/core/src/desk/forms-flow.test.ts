import { describe, expect, it } from 'vitest'
import { AskbackError, type Interaction } from '@askback/protocol'
import { ada, bob, isOver, port, testDesk, waiting, type TestDesk } from './test-desk.test.helper.js'

const tooHigh = { values: { port: 70_000 } }
const fine = { values: { port: 8080 } }

/** Answers with invalid values, and returns the interaction that reprompts. */
async function askedAgain({ desk }: TestDesk, interactionId: string, answer = tooHigh): Promise<Interaction> {
  const error: unknown = await desk
    .as(ada)
    .respond({ interactionId, answer })
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(AskbackError)
  expect(error).toMatchObject({
    code: 'invalid_answer',
    details: { errors: { port: 'Must be at most 65535.' } },
  })
  return ((error as AskbackError).details as { interaction: Interaction }).interaction
}

describe('[L6] a form with invalid values', () => {
  it('is reprompted in one append: the old interaction is superseded, the new one is pending and has the errors', async () => {
    const test = await testDesk()
    const old = await test.open('form', port, {
      toolCallId: 't',
      toolName: 'Deploy',
      turnId: 'turn',
      agentId: 'sub',
    })
    const before = await test.seq()
    const again = await askedAgain(test, old.interactionId)
    expect(again).toMatchObject({
      status: 'pending',
      toolCallId: 't',
      toolName: 'Deploy',
      turnId: 'turn',
      agentId: 'sub',
    })
    expect(again.interactionId).not.toBe(old.interactionId)
    expect((await test.store.changes({ limit: 100 })).at(-1)!.events.map((event) => event.seq)).toEqual([
      5, 6, 7, 8,
    ])
    const anchored = { toolCallId: 't', toolName: 'Deploy', turnId: 'turn' }
    expect(await test.events(before)).toMatchObject([
      {
        type: 'interaction_response',
        interactionId: old.interactionId,
        settlement: 'superseded',
        supersededBy: again.interactionId,
        ...anchored,
      },
      {
        type: 'interaction_pending',
        interactionId: old.interactionId,
        pending: false,
        reason: 'superseded',
        ...anchored,
      },
      {
        type: 'interaction_pending',
        interactionId: again.interactionId,
        pending: true,
        reason: 'reprompted',
        expiresAt: old.expiresAt,
        ...anchored,
      },
      {
        type: 'interaction_request',
        interactionId: again.interactionId,
        kind: 'form',
        request: port,
        digest: old.digest,
        errors: { port: 'Must be at most 65535.' },
        progress: tooHigh,
        ...anchored,
      },
    ])
    expect((await test.desk.pending()).interactions).toMatchObject([{ interactionId: again.interactionId }])
    expect(await test.desk.interaction('s', old.interactionId)).toMatchObject({
      settlement: 'superseded',
      supersededBy: again.interactionId,
    })
  })

  it('keeps its waiter, its deadline and the id of the first interaction through every reprompt', async () => {
    const test = await testDesk()
    const first = await test.open('form', port, { timeoutMs: 1000 })
    const { settlement } = await waiting(test.desk, first.interactionId)
    let { interactionId } = first
    for (let count = 0; count < 3; count++) {
      test.clock.advance(100)
      const again = await askedAgain(test, interactionId)
      expect(again).toMatchObject({ expiresAt: first.expiresAt, requestedAt: test.clock.now() })
      expect(again.repromptOf).toBe(first.interactionId)
      interactionId = again.interactionId
      expect(await isOver(settlement)).toBe(false)
    }
    await test.desk.as(ada).respond({ interactionId, answer: fine })
    expect(await settlement).toMatchObject({ settlement: 'answered', interactionId, answer: fine })
    expect((await test.types()).filter((type) => type === 'interaction_delivered')).toHaveLength(1)
  })

  it('times out at its first deadline, also after invalid answers', async () => {
    const test = await testDesk()
    const { interactionId } = await test.open('form', port, { timeoutMs: 1000 })
    const { settlement } = await waiting(test.desk, interactionId)
    test.clock.advance(900)
    const again = await askedAgain(test, interactionId)
    test.clock.advance(100)
    expect(await settlement).toMatchObject({ settlement: 'timed_out', interactionId: again.interactionId })
  })

  it('settles with its declared answer at the deadline, reprompted or not', async () => {
    const test = await testDesk()
    const { interactionId } = await test.open('form', port, { timeoutMs: 1000, onTimeout: { answer: fine } })
    const { settlement } = await waiting(test.desk, interactionId)
    await askedAgain(test, interactionId)
    test.clock.advance(1000)
    expect(await settlement).toMatchObject({ settlement: 'answered', answer: fine, via: 'policy' })
  })

  it('[L3] an answer to the old interaction gets its settlement as an error', async () => {
    const test = await testDesk()
    const { interactionId } = await test.open('form', port)
    const again = await askedAgain(test, interactionId)
    await expect(test.desk.as(bob).respond({ interactionId, answer: fine })).rejects.toMatchObject({
      code: 'already_settled',
      details: {
        interaction: { interactionId, settlement: 'superseded', supersededBy: again.interactionId },
      },
    })
    expect(await test.desk.interaction('s', again.interactionId)).toMatchObject({ status: 'pending' })
  })

  it('of two concurrent invalid answers one reprompts, and the other gets the new interaction', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('form', port)
    const [first, second] = await Promise.allSettled([
      desk.as(ada).respond({ interactionId, answer: tooHigh }),
      desk.as(bob).respond({ interactionId, answer: tooHigh }),
    ])
    expect(first).toMatchObject({ reason: { code: 'invalid_answer' } })
    expect(second).toMatchObject({ reason: { code: 'already_settled' } })
    expect((await desk.pending()).interactions).toHaveLength(1)
  })

  it('[L10] a waiter of the old interaction, also after a restart, gets the answer to the last one', async () => {
    const test = await testDesk()
    const { interactionId } = await test.open('form', port)
    const second = await askedAgain(test, interactionId)
    const third = await askedAgain(test, second.interactionId)
    const desk = test.restart()
    const { settlement } = await waiting(desk, interactionId)
    await desk.as(ada).respond({ interactionId: third.interactionId, answer: fine })
    expect(await settlement).toMatchObject({ settlement: 'answered', interactionId: third.interactionId })
    expect(await desk.wait(interactionId)).toMatchObject({ settlement: 'answered', answer: fine })
  })

  it('[L7] is cancelled with its tool call, like the first interaction', async () => {
    const test = await testDesk()
    const { desk } = test
    await desk.report({
      sessionId: 's',
      events: [{ type: 'tool_call', toolCallId: 't', toolName: 'T', input: {} }],
    })
    const { interactionId } = await test.open('form', port, { toolCallId: 't' })
    const { settlement } = await waiting(desk, interactionId)
    await askedAgain(test, interactionId)
    await desk.report({
      sessionId: 's',
      events: [{ type: 'tool_result', toolCallId: 't', output: null, isError: false }],
    })
    expect(await settlement).toMatchObject({ settlement: 'cancelled' })
  })

  it('[L13] keeps the session waiting, so there is no status event', async () => {
    const test = await testDesk()
    const { interactionId } = await test.open('form', port)
    const before = await test.seq()
    await askedAgain(test, interactionId)
    expect(await test.types(before)).not.toContain('session_status')
    expect((await test.desk.snapshot('s')).session.status).toBe('waiting')
  })

  it('an invalid text reprompts, too', async () => {
    const { desk, open } = await testDesk()
    const name = { message: 'Who?', schema: { fields: [{ name: 'name', type: 'text', minLength: 3 }] } }
    const { interactionId } = await open('form', name)
    const { settlement } = await waiting(desk, interactionId)
    await expect(desk.as(ada).message({ sessionId: 's', text: 'Al' })).rejects.toMatchObject({
      code: 'invalid_answer',
      details: { errors: { name: 'Must have at least 3 characters.' } },
    })
    expect(await desk.as(ada).message({ sessionId: 's', text: 'Alan' })).toMatchObject({
      routed: 'interaction',
    })
    expect(await settlement).toMatchObject({ settlement: 'answered', answer: { values: { name: 'Alan' } } })
  })
})

describe('[L9] an answer that is not one for a form', () => {
  it.each([
    ['an unknown name', { values: { port: 1, host: 'x' } }],
    ['another JSON type', { values: { port: '80' } }],
    ['no values', {}],
    ['a list', { values: [] }],
    ['more than values', { values: { port: 1 }, note: 'x' }],
  ])('%s is refused without a reprompt', async (_, answer) => {
    const { desk, open, seq } = await testDesk()
    const { interactionId } = await open('form', port)
    const before = await seq()
    const wrong = desk.as(ada).respond({ interactionId, answer })
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_answer' })
    await expect(wrong).rejects.not.toHaveProperty('details.interaction')
    expect(await seq()).toBe(before)
  })
})
