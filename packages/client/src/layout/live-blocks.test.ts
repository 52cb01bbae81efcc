import { emptyState, fold, type LiveEvent } from '@askback/protocol'
import { expect, it } from 'vitest'
import { called, ended, EventLog, started, wrote } from '../testing/session-events.js'
import { over, turn } from './layout-cases.test.helper.js'
import { LiveBlocks } from './live-blocks.js'

const delta = (offset: number, text: string, blockId = 'b1'): LiveEvent => ({
  type: 'text_delta',
  blockId,
  offset,
  text,
})
const output = (offset: number, text: string): LiveEvent => ({
  type: 'tool_output_delta',
  toolCallId: 'c1',
  offset,
  text,
})
const input: LiveEvent = {
  type: 'tool_call_delta',
  toolCallId: 'c1',
  toolName: 'Bash',
  offset: 0,
  partialInput: '{',
}

function textAfter(...deltas: LiveEvent[]): string | undefined {
  const blocks = new LiveBlocks()
  for (const event of deltas) blocks.add(event, null)
  return blocks.list[0]?.text
}

it.each([
  ['pieces in order', [delta(0, 'ab'), delta(2, 'cd')]],
  ['repeated pieces', [delta(0, 'ab'), delta(0, 'ab'), delta(2, 'cd'), delta(2, 'cd')]],
  ['pieces that overlap', [delta(0, 'abc'), delta(1, 'bcd')]],
  ['a piece that is included in another', [delta(0, 'abcd'), delta(1, 'bc')]],
  ['pieces in another order', [delta(3, 'd'), delta(1, 'bc'), delta(0, 'a')]],
  ['a gap and then the block so far', [delta(3, 'd'), delta(0, 'abc')]],
])('%s give one text', (_name, deltas) => {
  expect(textAfter(...deltas)).toBe('abcd')
})

it('a piece whose predecessor is missing is not shown', () => {
  expect(textAfter(delta(3, 'd'))).toBeUndefined()
})

it('a finished block is removed, and later pieces of it are ignored', () => {
  const log = new EventLog()
  const blocks = new LiveBlocks()
  const all = [delta(0, 'a'), output(0, 'x'), input]
  for (const event of all) blocks.add(event, null)
  expect(blocks.list.map(({ type }) => type)).toEqual(['text', 'tool_output', 'tool_call'])
  const events = log.append(started(), wrote('b1'), called('c1'), ended('c1'))
  blocks.finish(events)
  expect(blocks.list).toEqual([])
  const state = fold(emptyState('s1'), events)
  for (const event of [delta(1, 'b'), ...all]) blocks.add(event, state)
  expect(blocks.list).toEqual([])
})

it('the output of a call grows after the call is in the log', () => {
  const blocks = new LiveBlocks()
  const state = fold(emptyState('s1'), new EventLog().append(started(), called('c1')))
  blocks.add(output(0, 'x'), state)
  expect(blocks.list).toEqual([{ type: 'tool_output', id: 'c1', text: 'x' }])
})

it('the end of a turn removes all unfinished blocks', () => {
  const blocks = new LiveBlocks()
  blocks.add(delta(0, 'a'), null)
  blocks.finish(new EventLog().append(turn('t1')))
  expect(blocks.list).toHaveLength(1)
  blocks.finish(new EventLog().append(over('t1')))
  expect(blocks.list).toEqual([])
})

it('the list keeps its identity until something changes', () => {
  const blocks = new LiveBlocks()
  blocks.add(delta(0, 'a'), null)
  const before = blocks.list
  blocks.add(delta(0, 'a'), null)
  blocks.finish(new EventLog().append(wrote('other')))
  expect(blocks.list).toBe(before)
})

it('blocks that a new stream does not send again are removed', () => {
  const blocks = new LiveBlocks()
  for (const blockId of ['b1', 'b2', 'b3']) blocks.add(delta(0, 'old', blockId), null)
  const before = blocks.list
  blocks.beginStream()
  blocks.add(delta(0, 'old', 'b1'), null)
  expect(blocks.list).toBe(before)
  blocks.add(delta(0, 'new and more', 'b2'), null)
  blocks.sweep()
  expect(blocks.list.map(({ id, text }) => `${id} ${text}`)).toEqual(['b1 old', 'b2 new and more'])
  const swept = blocks.list
  blocks.sweep()
  expect(blocks.list).toBe(swept)
})
