import { describe, expect, it } from 'vitest'
import type { NewEvent, NewEventOf, SessionEvent } from './events.js'
import { anchored, answer, ask, begin, by, finish, logOf, start, stateOf, text } from './event-log.fixture.js'
import { fold, foldInto, reduce } from './reduce.js'
import { emptyState, pendingOf, sessionOf, stateFromJson, stateToJson } from './state.js'

describe('each event', () => {
  it('session_started names the session, its log and its mode', () => {
    const state = stateOf({ ...start, model: 'm', source: 'cli' })
    expect(state).toMatchObject({
      logId: 'e1',
      agent: 'demo',
      title: 'Try',
      cwd: '/w',
      model: 'm',
      source: 'cli',
      createdAt: 10,
      seq: 1,
    })
    expect(sessionOf(state)).toEqual({
      id: 's1',
      agent: 'demo',
      title: 'Try',
      cwd: '/w',
      status: 'idle',
      permissionMode: 'plan',
      createdAt: 10,
    })
    expect(stateOf({ type: 'session_started', agent: null, permissionMode: 'default' })).toMatchObject({
      title: null,
      cwd: null,
      model: null,
    })
  })

  it('a notice marks an agent that acts without asking, until another one says that it asks', () => {
    const notice = (code: string) => ({ type: 'error', code, message: 'm', fatal: false }) as const
    const marked = stateOf(start, notice('agent_decides'))
    expect(sessionOf(marked)).toMatchObject({ decidesAlone: true })
    expect(stateFromJson(stateToJson(marked))).toEqual(marked)
    expect(sessionOf(stateOf(start, notice('agent_lost')))).not.toHaveProperty('decidesAlone')
    const asking = stateOf(start, notice('agent_decides'), notice('agent_asks'))
    expect(sessionOf(asking)).not.toHaveProperty('decidesAlone')
  })

  it('turns hold their items and how they ended', () => {
    const state = stateOf(
      start,
      { type: 'user_message', text: 'hi', by, turnId: 'u1' },
      begin('u1'),
      text('b1'),
      finish('u1'),
    )
    expect(state.turns).toEqual([
      {
        key: 'u1',
        turnId: 'u1',
        startedAt: 20,
        endedAt: 50,
        reason: 'done',
        items: [
          { type: 'user_message', id: 'e2', at: 20, text: 'hi', by },
          { type: 'text', id: 'b1', at: 40, text: 'b1' },
        ],
      },
    ])
  })

  it('an event belongs to the turn it names, else to the open one', () => {
    const state = stateOf(start, begin('u1'), finish('u1'), begin('u2'), text('late', 'u1'), text('now'))
    expect(state.turns.map((turn) => turn.items.map((item) => ('id' in item ? item.id : '')))).toEqual([
      ['late'],
      ['now'],
    ])
  })

  it('text and thinking keep their response, and whether they are incomplete', () => {
    const state = stateOf(start, {
      type: 'thinking',
      blockId: 'b1',
      text: 'hm',
      responseId: 'r1',
      partial: true,
    })
    expect(state.turns[0]!.items).toEqual([
      { type: 'thinking', id: 'b1', at: 20, text: 'hm', responseId: 'r1', partial: true },
    ])
  })

  it('a second request under the same id replaces the first and counts as the newest', () => {
    const state = stateOf(start, ...ask('i1'), ...ask('i2'), ...ask('i1'))
    expect(pendingOf(state).map((item) => item.interactionId)).toEqual(['i2', 'i1'])
    expect(state.pendingIds.size).toBe(2)
    expect(stateFromJson(stateToJson(state))).toEqual(state)
  })

  it('a tool call is added once and keeps its first result', () => {
    const call: NewEvent = {
      type: 'tool_call',
      toolCallId: 't1',
      toolName: 'Bash',
      input: { a: 1 },
      responseId: 'r1',
      source: 'http',
    }
    const state = stateOf(
      start,
      call,
      { ...call, toolName: 'Other' },
      { type: 'tool_result', toolCallId: 't1', output: 'ok', isError: false, truncated: 9 },
      { type: 'tool_result', toolCallId: 't1', output: 'again', isError: true },
      { type: 'tool_result', toolCallId: 'unknown', output: 'x', isError: true },
    )
    expect(state.turns[0]!.items).toEqual([{ type: 'tool_call', toolCallId: 't1', responseId: 'r1' }])
    expect([...state.toolCalls.values()]).toEqual([
      {
        toolCallId: 't1',
        toolName: 'Bash',
        input: { a: 1 },
        at: 20,
        responseId: 'r1',
        source: 'http',
        result: { output: 'ok', isError: false, at: 40, truncated: 9 },
      },
    ])
  })

  it('a tool result does not settle what is pending about its call', () => {
    const state = stateOf(
      start,
      { type: 'tool_call', toolCallId: 't-i1', toolName: 'Bash', input: {} },
      ...ask('i1'),
      { type: 'tool_result', toolCallId: 't-i1', output: '', isError: false },
    )
    expect(pendingOf(state).map((item) => item.interactionId)).toEqual(['i1'])
  })

  it('[L1] a request makes its interaction pending', () => {
    const state = stateOf(start, ...ask('i1', { turnId: 'u1', errors: { a: 'Required.' } }))
    expect(pendingOf(state)).toEqual([
      {
        seq: 3,
        ...anchored('i1'),
        sessionId: 's1',
        kind: 'approval',
        presentation: 'tool',
        request: { input: {} },
        digest: 'd',
        status: 'pending',
        requestedAt: 5,
        onTimeout: 'deny',
        errors: { a: 'Required.' },
        turnId: 'u1',
      },
    ])
  })

  it('[L2] a response settles it, and says by whom and how', () => {
    const state = stateOf(start, ...ask('i1'), ...answer('i1'))
    expect(pendingOf(state)).toEqual([])
    expect(state.interactions.get('i1')).toMatchObject({
      status: 'settled',
      settlement: 'denied',
      answer: { decision: 'deny', message: 'no' },
      message: 'no',
      by,
      via: 'web',
      settledAt: 40,
    })
  })

  it('progress is stored until the answer is complete', () => {
    const state = stateOf(start, ...ask('i1'), {
      type: 'interaction_progress',
      interactionId: 'i1',
      answers: [{ selected: ['a'] }],
    })
    expect(pendingOf(state)).toMatchObject([{ progress: [{ selected: ['a'] }], status: 'pending' }])
  })

  it('[L10] a delivery marks the interaction; that of an unknown one is ignored', () => {
    const delivered: NewEvent = {
      type: 'interaction_delivered',
      interactionId: 'i1',
      toolCallId: 't',
      to: 'agent',
    }
    expect(stateOf(start, ...ask('i1'), ...answer('i1'), delivered).interactions.get('i1')).toMatchObject({
      delivered: true,
    })
    expect(stateOf(start, delivered).interactions.size).toBe(0)
  })

  it('[L2] only interaction_pending changes what is pending, the count and the status', () => {
    const [opened, request] = ask('i1')
    const [response, closed] = answer('i1')
    const steps = [start, begin('u1'), opened!, request!, response!, closed!]
    const seen = steps.map((_, index) => {
      const state = stateOf(...steps.slice(0, index + 1))
      return [state.status, state.pendingIds.size, pendingOf(state).length]
    })
    expect(seen).toEqual([
      ['idle', 0, 0],
      ['running', 0, 0],
      ['waiting', 1, 0],
      ['waiting', 1, 1],
      ['waiting', 1, 1],
      ['running', 0, 0],
    ])
    expect(stateOf(start, begin('u1'), request!)).toMatchObject({ status: 'running', pendingIds: new Set() })
    expect(pendingOf(stateOf(start, begin('u1'), request!))).toEqual([])
  })

  const superseded = (from: string, to: string): NewEvent[] => {
    const [response, closed] = answer(from) as [
      NewEventOf<'interaction_response'>,
      NewEventOf<'interaction_pending'>,
    ]
    const { answer: _answer, message: _message, ...rest } = response
    return [
      { ...rest, settlement: 'superseded', supersededBy: to },
      { ...closed, reason: 'superseded' },
    ]
  }

  it('[L6] [L11] a superseded one is closed by its own interaction_pending', () => {
    const state = stateOf(start, ...ask('i1'), ...superseded('i1', 'i2'), ...ask('i2'))
    expect(pendingOf(state).map((item) => item.interactionId)).toEqual(['i2'])
    expect([...state.pendingIds]).toEqual(['i2'])
    expect(state.interactions.get('i1')).toMatchObject({
      status: 'settled',
      settlement: 'superseded',
      supersededBy: 'i2',
    })
  })

  it('[L2] an old log without interaction_pending: false for a superseded one folds to the same state', () => {
    const [response] = superseded('i1', 'i2')
    const delivered: NewEvent = {
      type: 'interaction_delivered',
      interactionId: 'i1',
      toolCallId: 't-i1',
      to: 'agent',
    }
    const events = [start, ...ask('i1'), response!, delivered, ...ask('i2')]
    const state = stateOf(...events)
    expect(pendingOf(state).map((item) => item.interactionId)).toEqual(['i2'])
    expect([...state.pendingIds]).toEqual(['i2'])
    expect(state.interactions.get('i1')).toMatchObject({
      status: 'settled',
      settlement: 'superseded',
      delivered: true,
    })
    for (let cut = 1; cut < events.length; cut++) {
      const before = stateFromJson(structuredClone(stateToJson(stateOf(...events.slice(0, cut)))))
      expect(fold(before, logOf(...events)), `cut at ${cut}`).toEqual(state)
    }
  })

  it('session_status sets the mode; the agent’s session id is dropped when the context is cleared', () => {
    const status: NewEvent = { type: 'session_status', status: 'idle', permissionMode: 'acceptEdits' }
    const known = stateOf(start, status, { type: 'agent_session', agentSessionId: 'x' })
    expect(known).toMatchObject({ permissionMode: 'acceptEdits', agentSessionId: 'x' })
    const cleared = stateOf(
      start,
      status,
      { type: 'agent_session', agentSessionId: 'x' },
      { type: 'context_cleared' },
    )
    expect(cleared.agentSessionId).toBeNull()
    expect(cleared.turns.at(-1)!.items).toEqual([{ type: 'context_cleared', id: 'e4', at: 40 }])
  })

  it('an error is an item of the turn in which it happened', () => {
    const state = stateOf(start, begin('u1'), {
      type: 'error',
      code: 'rate',
      message: 'Slow down',
      fatal: false,
    })
    expect(state.turns[0]!.items).toEqual([
      { type: 'error', id: 'e3', at: 30, code: 'rate', message: 'Slow down', fatal: false },
    ])
    expect(state.failed).toBe(false)
  })

  it('a type that this version does not know advances seq and changes nothing else', () => {
    const before = stateOf(start, begin('u1'), ...ask('i1'))
    const unknown = {
      ...logOf(start)[0],
      type: 'weather_report',
      seq: 5,
      sky: 'blue',
    } as unknown as SessionEvent
    expect(reduce(before, unknown)).toEqual({ ...before, seq: 5 })
  })
})

describe('idempotence', () => {
  const log = logOf(start, begin('u1'), text('b1'), ...ask('i1'))

  it('an event that was folded before, or is not the next one, changes nothing', () => {
    const state = fold(emptyState('s1'), log.slice(0, 3))
    for (const event of [log[0]!, log[2]!, log[4]!]) expect(reduce(state, event)).toEqual(state)
    expect(fold(state, log)).toEqual(fold(emptyState('s1'), log))
  })

  it('foldInto changes the state in place, to the same result', () => {
    const state = emptyState('s1')
    foldInto(state, log)
    foldInto(state, log)
    expect(state).toEqual(fold(emptyState('s1'), log))
  })
})
