import { describe, it } from 'vitest'
import type { Command } from './command.js'
import {
  ada,
  choice,
  start,
  turn,
  listFiles,
  open,
  expiring,
  expectCase,
  settled,
  type Case,
} from './decide-cases.test.helper.js'

describe('start', () => {
  it.each<[string, Case]>([
    ['begins a session', { command: start, events: ['session_started'] }],
    ['refuses a session that exists', { given: [start], command: start, refused: 'invalid_request' }],
    [
      'does nothing with ifNotExists',
      { given: [start], command: { ...start, ifNotExists: true }, events: [] },
    ],
    [
      'refuses a session that is being deleted',
      { given: [start, { type: 'end' }], command: { ...start, ifNotExists: true }, refused: 'unavailable' },
    ],
  ])('%s', (_, each) => expectCase(each))
})

describe('message', () => {
  const say = (text: string, route: 'auto' | 'agent' | 'interaction' = 'auto'): Command => ({
    type: 'message',
    text,
    route,
    ...ada,
  })
  it.each<[string, Case]>([
    [
      'starts a turn',
      {
        given: [start],
        command: say('Go'),
        events: ['user_message', 'turn_started', 'status running default'],
      },
    ],
    [
      'joins the turn that runs',
      { given: [start, turn], command: say('More', 'agent'), events: ['user_message'] },
    ],
    [
      'denies a pending approval with its text',
      { given: [start, listFiles], command: say('Use git ls-files'), events: settled('denied') },
    ],
    [
      'never approves by a bare yes',
      { given: [start, listFiles], command: say('yes'), refused: 'needs_decision' },
    ],
    [
      '[L4] goes to the agent if all that waits is past its deadline',
      {
        given: [start, expiring(listFiles)],
        later: 1000,
        command: say('No'),
        events: [...settled('timed_out'), 'user_message', 'turn_started', 'status running default'],
      },
    ],
    ['refuses an empty text', { given: [start], command: say(' '), refused: 'invalid_request' }],
    [
      'refuses to answer if nothing is pending',
      { given: [start], command: say('A', 'interaction'), refused: 'nothing_pending' },
    ],
  ])('%s', (_, each) => expectCase(each))
})

describe('interrupt, clear, set_mode and end', () => {
  it.each<[string, Case]>([
    [
      '[L8] interrupt cancels everything',
      {
        given: [start, listFiles, open('question', choice)],
        command: { type: 'interrupt', ...ada },
        events: [...settled('cancelled'), ...settled('cancelled')],
      },
    ],
    ['interrupt of nothing changes nothing', { given: [start], command: { type: 'interrupt' }, events: [] }],
    [
      'clear cancels and clears the context',
      {
        given: [start, listFiles],
        command: { type: 'clear' },
        events: [...settled('cancelled'), 'context_cleared'],
      },
    ],
    [
      'set_mode changes the mode',
      { given: [start], command: { type: 'set_mode', mode: 'plan' }, events: ['status idle plan'] },
    ],
    [
      'set_mode to the same mode changes nothing',
      { given: [start], command: { type: 'set_mode', mode: 'default' }, events: [] },
    ],
    [
      'end settles what is pending, then ends',
      {
        given: [start, listFiles],
        command: { type: 'end' },
        events: [...settled('cancelled'), 'status ended default'],
      },
    ],
  ])('%s', (_, each) => expectCase(each))
})
