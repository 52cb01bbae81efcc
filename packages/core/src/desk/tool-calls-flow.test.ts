import { describe, expect, it } from 'vitest'
import { AGENT_LOST } from '../internal.js'
import {
  ada,
  database,
  isOver,
  listFiles,
  testDesk,
  waiting,
  type TestDesk,
} from './test-desk.test.helper.js'

const call = (toolCallId: string, toolName = 'Bash', input = { command: 'ls' }) =>
  ({ type: 'tool_call', toolCallId, toolName, input }) as const
const result = (toolCallId: string, isError = false) =>
  ({ type: 'tool_result', toolCallId, output: 'done', isError }) as const

const settlements = async ({ events }: TestDesk) =>
  (await events()).flatMap((event) => (event.type === 'interaction_response' ? [event.settlement] : []))

describe('[L7] a tool call that ends', () => {
  it.each([
    [false, 'The tool call ended.'],
    [true, 'The tool call failed.'],
  ])('with isError %j cancels every interaction that named it', async (isError, message) => {
    const test = await testDesk()
    const { desk } = test
    await desk.report({ sessionId: 's', events: [call('t'), call('other')] })
    const one = await test.open('approval', listFiles, { toolCallId: 't', attach: true })
    await test.open('question', database, { toolCallId: 't' })
    const spared = await test.open('question', database, { toolCallId: 'other' })
    const { settlement } = await waiting(desk, one.interactionId)
    await desk.report({ sessionId: 's', events: [result('t', isError)] })
    expect(await settlement).toMatchObject({ settlement: 'cancelled', message })
    expect(await settlements(test)).toEqual(['cancelled', 'cancelled'])
    expect((await desk.pending()).interactions).toMatchObject([{ interactionId: spared.interactionId }])
  })

  it('does not cancel interactions that were only matched to it', async () => {
    const { desk, clock, open } = await testDesk()
    await desk.report({ sessionId: 's', events: [call('t', 'Bash', { command: 'askback ask' })] })
    const opening = open('question', database, { toolName: 'askback_ask', rendezvous: true })
    clock.advance(1000)
    const { interactionId, toolCallId } = await opening
    expect(toolCallId).toBe('t')
    await desk.report({ sessionId: 's', events: [result('t')] })
    expect(await desk.interaction('s', interactionId)).toMatchObject({ status: 'pending' })
  })

  it('counts as named even if the interaction was opened before the call was reported', async () => {
    const test = await testDesk()
    await test.open('question', database, { toolCallId: 't' })
    await test.desk.report({ sessionId: 's', events: [call('t'), result('t')] })
    expect(await settlements(test)).toEqual(['cancelled'])
  })

  it('twice cancels once, and does not replace an earlier answer', async () => {
    const test = await testDesk()
    const { desk } = test
    await desk.report({ sessionId: 's', events: [call('t')] })
    const { interactionId } = await test.open('approval', listFiles, { toolCallId: 't' })
    await desk.as(ada).respond({ interactionId, answer: { decision: 'approve' } })
    await desk.report({ sessionId: 's', events: [result('t')] })
    await desk.report({ sessionId: 's', events: [result('t', true)] })
    expect(await settlements(test)).toEqual(['approved'])
    expect((await test.types()).filter((type) => type === 'tool_result')).toHaveLength(1)
  })
})

describe('a result for a call that is known only from its interaction', () => {
  it('[L7] records the call, ends it, and cancels the pending interaction', async () => {
    const test = await testDesk()
    const { interactionId } = await test.open('approval', listFiles, { toolCallId: 't', toolName: 'Bash' })
    const before = await test.seq()
    await test.desk.report({ sessionId: 's', events: [result('t', true)] })
    expect((await test.types(before)).slice(0, 2)).toEqual(['tool_call', 'tool_result'])
    const { state } = await test.desk.snapshot('s')
    expect(state.toolCalls).toMatchObject([
      { toolCallId: 't', toolName: 'Bash', input: listFiles.input, result: { isError: true } },
    ])
    expect(await test.desk.interaction('s', interactionId)).toMatchObject({
      settlement: 'cancelled',
      message: 'The tool call failed.',
    })
    const seq = await test.seq()
    await test.desk.report({ sessionId: 's', events: [result('t', true)] })
    expect(await test.seq()).toBe(seq)
  })

  it('ends a call whose id the desk has made', async () => {
    const test = await testDesk()
    const { interactionId, toolCallId } = await test.open('question', database)
    await test.desk.report({ sessionId: 's', events: [result(toolCallId, true)] })
    expect(await test.desk.interaction('s', interactionId)).toMatchObject({ settlement: 'cancelled' })
    const { state } = await test.desk.snapshot('s')
    expect(state.toolCalls).toMatchObject([{ toolCallId, input: database }])
  })

  it.each([0, 25])('records the call of its last interaction, also after %i turns', async (count) => {
    const test = await testDesk()
    for (const command of ['ls', 'ls -a']) {
      const request = { input: { command } }
      const { interactionId } = await test.open('approval', request, { toolCallId: 't', toolName: 'Bash' })
      await test.desk.as(ada).respond({ interactionId, answer: { decision: 'approve' } })
    }
    for (let turn = 0; turn < count; turn++) {
      const turnId = `turn${turn}`
      const events = [
        { type: 'turn_started', turnId },
        { type: 'turn_ended', turnId, reason: 'done' },
      ] as const
      await test.desk.report({ sessionId: 's', events: [...events] })
    }
    await test.desk.report({ sessionId: 's', events: [result('t')] })
    const calls = (await test.events()).filter((event) => event.type === 'tool_call')
    expect(calls).toMatchObject([{ toolCallId: 't', toolName: 'Bash', input: { command: 'ls -a' } }])
  })

  it('finds the call when its turn has left the window', async () => {
    const test = await testDesk()
    const { interactionId } = await test.open('approval', listFiles, { toolCallId: 't' })
    await test.desk.as(ada).respond({ interactionId, answer: { decision: 'approve' } })
    for (let turn = 0; turn < 25; turn++) {
      const turnId = `turn${turn}`
      const events = [
        { type: 'turn_started', turnId },
        { type: 'turn_ended', turnId, reason: 'done' },
      ] as const
      await test.desk.report({ sessionId: 's', events: [...events] })
    }
    await test.desk.report({ sessionId: 's', events: [result('t', true)] })
    expect(await test.store.toolCall('s', 't')).toEqual({ ended: true })
    expect(await settlements(test)).toEqual(['approved'])
  })
})

describe('[L8] cancelling everything that is pending', () => {
  async function threePending(): Promise<TestDesk> {
    const test = await testDesk({ session: { agent: 'demo' } })
    await test.desk.report({ sessionId: 's', events: [{ type: 'turn_started', turnId: 'turn' }, call('t')] })
    await test.open('approval', listFiles, { toolCallId: 't' })
    await test.open('question', database)
    await test.open('question', database, { toolCallId: 't' })
    return test
  }

  it.each([
    ['interrupt', 'The session was interrupted.'],
    ['clear', 'The session was cleared.'],
  ] as const)(
    '%s cancels everything with the person’s name, and is durable before it returns',
    async (how, message) => {
      const test = await threePending()
      const before = await test.seq()
      await test.desk.as(ada)[how]('s')
      const appended = await test.events(before)
      expect(appended.filter((event) => event.type === 'interaction_response')).toMatchObject(
        [1, 2, 3].map(() => ({ settlement: 'cancelled', message, ...ada })),
      )
      expect(appended.at(-1)).toMatchObject({ type: 'session_status', status: 'running' })
      expect(appended.some((event) => event.type === 'context_cleared')).toBe(how === 'clear')
      expect((await test.desk.pending()).interactions).toEqual([])
    },
  )

  it('clear drops the agent’s own context, and the log stays', async () => {
    const test = await threePending()
    await test.desk.report({ sessionId: 's', events: [{ type: 'agent_session', agentSessionId: 'thread' }] })
    const before = await test.events()
    expect((await test.desk.snapshot('s')).state.agentSessionId).toBe('thread')
    await test.desk.as(ada).clear('s')
    expect((await test.desk.snapshot('s')).state.agentSessionId).toBeNull()
    expect((await test.events()).slice(0, before.length)).toEqual(before)
  })

  it('an interrupt writes nothing if there is nothing to interrupt', async () => {
    const { desk, seq } = await testDesk()
    const before = await seq()
    await desk.as(ada).interrupt('s')
    expect(await seq()).toBe(before)
  })

  it.each([true, false])('an error that the agent reports, fatal %j, cancels everything', async (fatal) => {
    const test = await threePending()
    await test.desk.report({
      sessionId: 's',
      events: [{ type: 'error', code: 'boom', message: 'Oops', fatal }],
    })
    expect(await settlements(test)).toEqual(['cancelled', 'cancelled', 'cancelled'])
    expect((await test.events()).at(-2)).toMatchObject({ type: 'error', message: 'Oops', fatal })
  })

  it('a result and an error in one report settle each interaction once', async () => {
    const test = await threePending()
    const error = { type: 'error', code: 'boom', message: 'Oops', fatal: true } as const
    await test.desk.report({ sessionId: 's', events: [result('t', true), error, error] })
    expect(await settlements(test)).toEqual(['cancelled', 'cancelled', 'cancelled'])
  })

  it('the loss of the agent’s process cancels nothing', async () => {
    const test = await threePending()
    const [item] = (await test.desk.pending()).interactions
    const { settlement } = await waiting(test.desk, item!.interactionId)
    const lost = { type: 'error', code: AGENT_LOST, message: 'It is gone.', fatal: true } as const
    await test.desk.report({ sessionId: 's', events: [lost] })
    expect(await settlements(test)).toEqual([])
    expect(await isOver(settlement)).toBe(false)
  })

  it('only the named session is affected', async () => {
    const { desk } = await threePending()
    const other = await desk.createSession({ id: 'other' })
    const { interaction } = await desk.open({
      sessionId: other.session.id,
      kind: 'question',
      request: database,
    })
    await desk.as(ada).interrupt('s')
    expect((await desk.pending()).interactions).toMatchObject([{ interactionId: interaction.interactionId }])
  })
})
