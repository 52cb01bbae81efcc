import { describe, expect, it } from 'vitest'
import type { NewEvent } from './events.js'
import { answer, ask, begin, by, finish, logOf, start, stateOf, text } from './event-log.fixture.js'
import { fold } from './reduce.js'
import { CALL_FORGOTTEN_MS, emptyState, pendingOf, type SessionState } from './state.js'

describe('status', () => {
  const fatal: NewEvent = { type: 'error', code: 'x', message: 'y', fatal: true }
  const ended: NewEvent = { type: 'session_status', status: 'ended', permissionMode: 'default' }
  const outside: NewEvent = { type: 'session_started', agent: null, permissionMode: 'default' }

  it.each<[string, NewEvent[], SessionState['status']]>([
    ['a new session is idle', [start], 'idle'],
    ['a turn runs', [start, begin('u1')], 'running'],
    ['a turn that has asked is waiting', [start, begin('u1'), ...ask('i1')], 'waiting'],
    [
      'two are pending, one is answered',
      [start, begin('u1'), ...ask('i1'), ...ask('i2'), ...answer('i1')],
      'waiting',
    ],
    ['all are answered', [start, begin('u1'), ...ask('i1'), ...answer('i1')], 'running'],
    ['the turn has ended', [start, begin('u1'), finish('u1')], 'idle'],
    [
      'with an agent, something pending outside a turn does not count as waiting',
      [start, ...ask('i1')],
      'idle',
    ],
    ['without an agent it does', [outside, ...ask('i1')], 'waiting'],
    ['without an agent, answered', [outside, ...ask('i1'), ...answer('i1')], 'idle'],
    ['a fatal error outside a turn', [start, fatal], 'failed'],
    ['a fatal error inside a turn counts once the turn has ended', [start, begin('u1'), fatal], 'running'],
    ['a turn that ended in a fatal error', [start, begin('u1'), fatal, finish('u1')], 'failed'],
    ['the next turn clears the failure', [start, fatal, begin('u2')], 'running'],
    ['ended', [start, begin('u1'), ...ask('i1'), ended], 'ended'],
    ['the end of another turn does not count', [start, begin('u1'), finish('u0')], 'running'],
  ])('[L13] %s', (_, events, status) => {
    expect(stateOf(...events).status).toBe(status)
  })
})

describe('the window', () => {
  const turns = (count: number, inside: (turnId: string) => NewEvent[] = () => []): NewEvent[] =>
    Array.from({ length: count }, (_, index) => `u${index + 1}`).flatMap((turnId) => [
      begin(turnId),
      ...inside(turnId),
      finish(turnId),
    ])

  const ids = (count: number, from: number) => Array.from({ length: count }, (_, index) => `u${index + from}`)

  it('covers the open turn and the twenty before it', () => {
    const open = stateOf(start, ...turns(25), begin('u26'))
    expect(open.turns.map((turn) => turn.turnId)).toEqual(ids(21, 6))
    const announced = stateOf(
      start,
      ...turns(25),
      { type: 'user_message', text: 'hi', by, turnId: 'u26' },
      begin('u26'),
    )
    expect(announced.turns.map((turn) => turn.turnId)).toEqual(ids(21, 6))
  })

  it('is marked as trimmed once a turn has left it', () => {
    expect(stateOf(start, ...turns(21)).trimmed).toBe(false)
    expect(stateOf(start, ...turns(22)).trimmed).toBe(true)
  })

  it('keeps an open turn that is older than twenty others', () => {
    const messages: NewEvent[] = Array.from({ length: 30 }, (_, i) => ({
      type: 'user_message',
      text: `${i}`,
      by,
      turnId: `m${i}`,
    }))
    const state = stateOf(start, begin('u1'), text('b1'), ...messages)
    expect(state.turns).toHaveLength(21)
    expect(state.turns[0]).toMatchObject({ turnId: 'u1', items: [{ id: 'b1' }] })
  })

  it('drops the tool calls and settled interactions of turns that have left it', () => {
    const inside = (turnId: string): NewEvent[] => [
      { type: 'tool_call', toolCallId: `t-${turnId}`, toolName: 'Bash', input: {} },
      ...ask(turnId),
      ...answer(turnId),
    ]
    const state = stateOf(start, ...turns(25, inside))
    expect([...state.toolCalls.keys()]).toEqual(ids(21, 5).map((id) => `t-${id}`))
    expect([...state.interactions.keys()]).toEqual(ids(21, 5))
  })

  it('keeps a running call, however old, and for 30 seconds after its end', () => {
    const call: NewEvent = { type: 'tool_call', toolCallId: 't', toolName: 'Bash', input: {}, turnId: 'u0' }
    const result: NewEvent = { type: 'tool_result', toolCallId: 't', output: '', isError: false }
    const running = stateOf(start, begin('u0'), call, ...turns(25))
    expect(running.turns.some(({ turnId }) => turnId === 'u0')).toBe(false)
    expect(running.toolCalls.get('t')).toMatchObject({ turnId: 'u0' })
    const log = logOf(start, begin('u0'), call, ...turns(25), result, begin('u26'), begin('u27'))
    const ended = fold(emptyState('s1'), log.slice(0, -1))
    expect(ended.toolCalls.get('t')).toMatchObject({ result: { output: '' } })
    const last = log.at(-1)!
    const later = fold(ended, [{ ...last, at: last.at + CALL_FORGOTTEN_MS }])
    expect(later.toolCalls.has('t')).toBe(false)
  })

  it('keeps at most fifty older calls that never end', () => {
    const calls = Array.from({ length: 80 }, (_, i): NewEvent => ({
      type: 'tool_call',
      toolCallId: `t${i}`,
      toolName: 'Bash',
      input: {},
    }))
    const message: NewEvent = { type: 'user_message', text: 'hi', by }
    const state = stateOf(start, ...calls, ...Array.from({ length: 25 }, () => message))
    expect([...state.toolCalls.keys()]).toEqual(calls.slice(30).map((_, i) => `t${i + 30}`))
  })

  it('keeps a pending interaction, however old, and drops it when it settles', () => {
    const old = [start, ...ask('i1', { turnId: 'u0' }), ...turns(25)]
    const waiting = stateOf(...old)
    expect(pendingOf(waiting).map((item) => item.interactionId)).toEqual(['i1'])
    expect([...waiting.pendingOutsideWindow]).toEqual(['i1'])
    const settled = stateOf(...old, ...answer('i1'))
    expect([settled.interactions.size, settled.pendingIds.size, settled.pendingOutsideWindow.size]).toEqual([
      0, 0, 0,
    ])
  })

  it('keeps an interaction that is requested again under its id after it had left', () => {
    const old = [start, ...ask('i1', { turnId: 'u0' }), ...turns(25)]
    const again = stateOf(...old, ...ask('i1'))
    expect([...again.pendingOutsideWindow]).toEqual([])
    const settled = stateOf(...old, ...ask('i1'), ...answer('i1'))
    expect(settled.interactions.get('i1')).toMatchObject({ status: 'settled', settlement: 'denied' })
  })

  it('begins a container for a message outside a turn, which other items without a turn join', () => {
    const message: NewEvent = { type: 'user_message', text: 'hi', by }
    const state = stateOf(start, message, text('b1'), message, text('b2'))
    expect(state.turns.map((turn) => [turn.key, turn.turnId, turn.items.length])).toEqual([
      ['e2', null, 2],
      ['e4', null, 2],
    ])
  })

  it('is bounded in a session that has no turns', () => {
    const state = stateOf(start, ...Array.from({ length: 5000 }, (_, index) => text(`b${index}`)))
    expect(state.turns).toHaveLength(21)
    expect(Math.max(...state.turns.map((turn) => turn.items.length))).toBe(10)
    expect(state.turns.at(-1)!.items.at(-1)).toMatchObject({ id: 'b4999' })
  })
})
