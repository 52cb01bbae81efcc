import { emptyState, fold, type NewEvent } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { draw } from '../testing/draw.js'
import {
  asked,
  askedQuestion,
  called,
  ended,
  EventLog,
  settled,
  started,
  wrote,
} from '../testing/session-events.js'
import { createLayout, layout } from './layout.js'
import { over, r1, says, turn } from './layout-cases.test.helper.js'
import type { ToolBlock } from './layout-model.js'
import type { LiveBlock } from './live-blocks.js'

function stateOf(...events: NewEvent[]) {
  const log = new EventLog()
  log.append(started())
  for (const event of events) log.append(event)
  return fold(emptyState('s1'), log.events)
}

function drawn(events: NewEvent[], live: LiveBlock[]): string[] {
  return draw(layout(stateOf(...events), live)).split('\n')
}

describe('unfinished blocks', () => {
  it('come last, in the response that is being written', () => {
    const live: LiveBlock[] = [
      { type: 'text', id: 'b2', text: 'Now I' },
      { type: 'tool_call', id: 'c2', toolName: 'Bash', text: '{"comm' },
    ]
    expect(drawn([turn('t1'), wrote('b1', r1)], live)).toEqual([
      'turn t1',
      '  response r1',
      '    text "text of b1"',
      '    text "Now I" streaming',
      '    group',
      '      call c2 streaming {"comm',
      'typing',
    ])
  })

  it('get a container if there is none', () => {
    const live: LiveBlock[] = [{ type: 'thinking', id: 'b1', text: 'Hm' }]
    expect(drawn([says('hi', 't1'), turn('t1')], live)).toEqual([
      'turn t1',
      '  message hi',
      '  response unnamed',
      '    thinking "Hm" streaming',
      'typing',
    ])
    const call: LiveBlock[] = [{ type: 'tool_call', id: 'c1', toolName: 'Bash', text: '{' }]
    expect(drawn([], call)).toEqual(['turn live', '  tool-call c1', '    group', '      call c1 streaming {'])
  })

  it('show the output of a tool in the block of its call until there is a result', () => {
    const live: LiveBlock[] = [{ type: 'tool_output', id: 'c1', text: 'compiling' }]
    expect(drawn([turn('t1'), called('c1', r1)], live)).toContain('      call c1 running > compiling')
    expect(drawn([turn('t1'), called('c1', r1), ended('c1')], live)).toContain('      call c1 done')
  })

  it('belong to the open turn, not to the newest', () => {
    const events = [turn('t1'), wrote('b1', r1), wrote('late', { turnId: 't0' })]
    expect(drawn(events, [{ type: 'text', id: 'b2', text: 'more' }])).toEqual([
      'turn t1',
      '  response r1',
      '    text "text of b1"',
      '    text "more" streaming',
      'turn t0',
      '  response unnamed',
      '    text "text of late"',
      'typing',
    ])
  })
})

describe('the window', () => {
  it('begins with what is pending in turns that have left it', () => {
    const old = [turn('t0'), ...asked('i1'), ...askedQuestion('i2'), over('t0')]
    const later = Array.from({ length: 25 }, (_, n) => [turn(`t${n + 1}`), over(`t${n + 1}`)]).flat()
    expect(drawn([...old, ...later], []).slice(0, 6)).toEqual([
      'turn earlier',
      '  tool-call call-i1',
      '    placeholder call-i1 waiting',
      '      approval i1 open',
      '  tool-call call-i2',
      '    question i2 open',
    ])
  })
})

describe('identity', () => {
  const events = [
    turn('t1'),
    called('c1', r1),
    ended('c1'),
    over('t1'),
    turn('t2'),
    wrote('b1', { responseId: 'r2' }),
    called('c2', { responseId: 'r2' }),
    ...asked('i2', { responseId: 'r2', toolCallId: 'c2' }),
  ]

  it('is kept for turns that did not change, and for unchanged parts of those that did', () => {
    const draw = createLayout()
    const log = new EventLog()
    const state = fold(emptyState('s1'), log.append(started(), ...events))
    const before = draw(state)
    const after = draw(fold(state, log.append(...settled('i2', { toolCallId: 'c2' }))))
    expect(after).not.toBe(before)
    expect(after.turns[0]).toBe(before.turns[0])
    expect(after.turns[1]).not.toBe(before.turns[1])
    const [text, call] = responseOf(after.turns[1]!.containers[0]!)
    const [textBefore, callBefore] = responseOf(before.turns[1]!.containers[0]!)
    expect(text).toBe(textBefore)
    expect(call).not.toBe(callBefore)
  })

  it('is kept for the whole layout if nothing visible has changed', () => {
    const draw = createLayout()
    const log = new EventLog()
    const state = fold(emptyState('s1'), log.append(started(), ...events))
    const before = draw(state)
    expect(draw(fold(state, log.append({ type: 'agent_session', agentSessionId: 'a' })))).toBe(before)
  })

  it('is kept for an unchanged call in a group', () => {
    const draw = createLayout()
    const log = new EventLog()
    const state = fold(
      emptyState('s1'),
      log.append(started(), turn('t1'), called('c1', r1), called('c2', r1)),
    )
    const before = groupOf(draw(state).turns[0]!.containers[0]!)
    const after = groupOf(draw(fold(state, log.append(ended('c2')))).turns[0]!.containers[0]!)
    expect(after[0]).toBe(before[0])
    expect(after[1]).not.toBe(before[1])
  })

  it('changes for a block that grows', () => {
    const draw = createLayout()
    const state = stateOf(turn('t1'), wrote('b1', r1))
    const before = responseOf(draw(state, [{ type: 'text', id: 'b2', text: 'a' }]).turns[0]!.containers[0]!)
    const after = responseOf(draw(state, [{ type: 'text', id: 'b2', text: 'ab' }]).turns[0]!.containers[0]!)
    expect(after[0]).toBe(before[0])
    expect(after[1]).toMatchObject({ text: 'ab' })
  })
})

function responseOf(container: ReturnType<typeof layout>['turns'][number]['containers'][number]) {
  if (container.type !== 'response') throw new Error(`a ${container.type}, not a response`)
  return container.blocks
}

function groupOf(container: Parameters<typeof responseOf>[0]): ToolBlock[] {
  const block = responseOf(container)[0]
  if (block?.type !== 'tool_group') throw new Error('not a group')
  return block.calls
}
