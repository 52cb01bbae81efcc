import { describe, expect, it } from 'vitest'
import type { NewEvent } from './events.js'
import { answer, ask, begin, finish, logOf, start, stateOf, text } from './event-log.fixture.js'
import { foldInto } from './reduce.js'
import { emptyState, stateFromJson, stateToJson, type SessionStateJson } from './state.js'

const turns = Array.from({ length: 25 }, (_, index) => `u${index}`).flatMap((turnId) => [
  begin(turnId),
  finish(turnId),
])
// Opened in the order 1 to 4; the first two leave the window.
const state = stateOf(
  start,
  ...ask('i1'),
  ...ask('i2'),
  ...turns,
  ...ask('i3'),
  ...ask('i4'),
  ...answer('i3'),
  ...answer('i2'),
)

describe('a state as JSON', () => {
  it('has all pending interactions, oldest first, and the settled ones of the window', () => {
    const json = stateToJson(state)
    expect(json.pending.map((item) => item.interactionId)).toEqual(['i1', 'i4'])
    expect(json.interactions.map((item) => item.interactionId)).toEqual(['i3'])
    expect(json.version).toBeGreaterThan(0)
  })

  it('is restored to the same state', () => {
    const read = stateFromJson(JSON.parse(JSON.stringify(stateToJson(state))) as SessionStateJson)
    expect(read).toEqual(state)
    expect([...read.interactions.keys()]).toEqual(['i1', 'i3', 'i4'])
    expect([...read.pendingOutsideWindow]).toEqual(['i1'])
  })

  it('does not change when the state it was taken from, or one restored from it, is folded in place', () => {
    const log = logOf(start, begin('u1'), text('b1'), ...ask('i1'), text('b2'), ...answer('i1'), finish('u1'))
    const live = emptyState('s1')
    foldInto(live, log.slice(0, 5))
    const json = stateToJson(live)
    const before = JSON.stringify(json)
    foldInto(live, log)
    expect(JSON.stringify(json)).toBe(before)
    const restored = stateFromJson(json)
    foldInto(restored, log)
    expect(JSON.stringify(json)).toBe(before)
    expect(restored).toEqual(live)
  })

  it('restores an empty session', () => {
    expect(stateFromJson(stateToJson(emptyState('s1')))).toEqual(emptyState('s1'))
  })
})

describe('an empty state', () => {
  it('stays empty when another empty state is folded in place', () => {
    const call: NewEvent = { type: 'tool_call', toolCallId: 't', toolName: 'T', input: {} }
    const other = emptyState('s1')
    foldInto(other, logOf(start, ...ask('i1'), ...turns, call))
    expect([...other.toolCalls.keys(), ...other.pendingOutsideWindow]).toEqual(['t', 'i1'])
    expect(emptyState('s2')).toMatchObject({ toolCalls: new Map(), pendingOutsideWindow: new Set() })
  })
})
