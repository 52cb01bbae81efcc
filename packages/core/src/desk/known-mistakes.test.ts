import { stateToJson } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { replay } from '../internal.js'
import { ada, database, listFiles, no, sqlite, testDesk, waiting, yes } from './test-desk.test.helper.js'

const regions = {
  questions: [
    {
      header: 'Region',
      question: 'Where?',
      options: [{ label: 'US, East' }, { label: 'EU' }],
      multiSelect: true,
    },
    { header: 'Size', question: 'How big?', options: [{ label: 'S' }, { label: 'L' }], multiSelect: false },
  ],
}

describe('mistakes that other products made', () => {
  it('answers by index reach the agent per question, in order, and with whole labels', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('question', regions, { toolCallId: 't' })
    const { settlement } = await waiting(desk, interactionId)
    const answers = { 1: 'L', 0: '["US, East","EU","Mars"]' }
    await desk.as(ada).answerToolCall({ sessionId: 's', toolCallId: 't', kind: 'question', answers })
    expect(await settlement).toMatchObject({
      answer: { answers: [{ selected: ['US, East', 'EU'], other: 'Mars' }, { selected: ['L'] }] },
    })
  })

  it('after a reload pending interactions are pending, and denied ones are denied', async () => {
    const { desk, open, restart } = await testDesk()
    const unanswered = await open('question', database)
    const denied = await open('approval', listFiles)
    await desk.as(ada).respond({ interactionId: denied.interactionId, answer: no })
    const { state } = await restart().snapshot('s')
    expect(state.pending).toMatchObject([{ interactionId: unanswered.interactionId, status: 'pending' }])
    expect(state.pending[0]).not.toHaveProperty('answer')
    expect(state.interactions).toMatchObject([{ interactionId: denied.interactionId, settlement: 'denied' }])
  })

  it('an interaction has one position in the session, from request to result', async () => {
    const { desk, open } = await testDesk()
    const call = { type: 'tool_call', toolCallId: 't', toolName: 'Bash', input: listFiles.input } as const
    await desk.report({ sessionId: 's', events: [call] })
    const { interactionId } = await open('approval', listFiles, { toolCallId: 't' })
    await desk.as(ada).respond({ interactionId, answer: yes })
    await desk.wait(interactionId)
    await desk.report({
      sessionId: 's',
      events: [{ type: 'tool_result', toolCallId: 't', output: 'a.ts', isError: false }],
    })
    const { turns, pending } = (await desk.snapshot('s')).state
    expect(turns.flatMap((turn) => turn.items)).toEqual([
      { type: 'tool_call', toolCallId: 't' },
      { type: 'interaction', interactionId },
    ])
    expect(pending).toEqual([])
  })

  it('the agent’s own session id is stored as soon as it is known, and differs from the session id', async () => {
    const { desk, open, restart } = await testDesk({ session: { agent: 'demo' } })
    const { interactionId } = await open('question', database)
    await desk.report({ sessionId: 's', events: [{ type: 'agent_session', agentSessionId: 'thread-1' }] })
    await desk.report({ sessionId: 's', events: [{ type: 'agent_session', agentSessionId: 'thread-2' }] })
    const { session, state } = await restart().snapshot('s')
    expect(session.id).toBe('s')
    expect(state).toMatchObject({ agentSessionId: 'thread-2', pending: [{ interactionId }] })
  })

  it('a replay of the log has the same pending interactions as the live state', async () => {
    const { desk, store, open } = await testDesk()
    await open('question', database)
    const { interactionId } = await open('approval', listFiles)
    await desk.cancel({ interactionId })
    expect(stateToJson(await replay(store, 's'))).toEqual((await desk.snapshot('s')).state)
  })

  it('a question of a subagent says which agent asks', async () => {
    const { desk, open } = await testDesk()
    await open('question', database, { agentId: 'reviewer' })
    expect((await desk.pending()).interactions).toMatchObject([{ agentId: 'reviewer' }])
  })

  it('the settlement of an interaction is shown where it was asked, also if another turn runs by then', async () => {
    const { desk, open, events } = await testDesk({ session: { agent: 'demo' } })
    await desk.report({ sessionId: 's', events: [{ type: 'turn_started', turnId: 'one' }] })
    const { interactionId } = await open('question', database, { turnId: 'one', responseId: 'r' })
    await desk.report({
      sessionId: 's',
      events: [
        { type: 'turn_ended', turnId: 'one', reason: 'done' },
        { type: 'turn_started', turnId: 'two' },
      ],
    })
    await desk.as(ada).respond({ interactionId, answer: sqlite })
    await desk.wait(interactionId)
    const about = (await events()).filter((event) => 'interactionId' in event)
    expect(about).toHaveLength(5)
    for (const event of about) expect(event).toMatchObject({ turnId: 'one', responseId: 'r' })
  })

  it('a long input is stored and shown completely', async () => {
    const { desk, open } = await testDesk()
    const command = `echo ${'x'.repeat(500_000)}; rm -rf /`
    const { interactionId } = await open('approval', { input: { command } })
    const { request } = (await desk.pending()).interactions[0]!
    expect(request).toEqual({ input: { command } })
    await desk.as(ada).respond({ interactionId, answer: yes })
    expect(await desk.wait(interactionId)).toMatchObject({ input: { command } })
  })
})
