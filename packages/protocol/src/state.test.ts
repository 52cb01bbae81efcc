import { describe, expect, it } from 'vitest'
import { answer, ask, begin, finish, start, stateOf } from './log.fixture.js'
import { emptyState, stateFromJson, stateToJson, type SessionStateJson } from './state.js'

const turns = Array.from({ length: 25 }, (_, index) => `u${index}`).flatMap((turnId) => [
  begin(turnId),
  finish(turnId),
])
// Asked in the order 1 to 4; the first two leave the window.
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
  it('has the pending interactions in full, oldest first, and the settled ones of the window', () => {
    const json = stateToJson(state)
    expect(json.pending.map((item) => item.interactionId)).toEqual(['i1', 'i4'])
    expect(json.interactions.map((item) => item.interactionId)).toEqual(['i3'])
    expect(json.version).toBeGreaterThan(0)
  })

  it('survives being written and read', () => {
    const read = stateFromJson(JSON.parse(JSON.stringify(stateToJson(state))) as SessionStateJson)
    expect(read).toEqual(state)
    expect([...read.interactions.keys()]).toEqual(['i1', 'i3', 'i4'])
    expect([...read.adrift]).toEqual(['i1'])
  })

  it('holds nothing of an empty session', () => {
    expect(stateFromJson(stateToJson(emptyState('s1')))).toEqual(emptyState('s1'))
  })
})
