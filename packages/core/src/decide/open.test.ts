import { describe, it } from 'vitest'
import {
  choice,
  start,
  turn,
  listFiles,
  open,
  expiring,
  report,
  expectCase,
  opened,
  settled,
  type Case,
} from './decide-cases.test.helper.js'

describe('open', () => {
  const again = { ...listFiles, attach: true }
  const other = { ...open('approval', { input: { command: 'rm' } }, { toolName: 'Bash' }), attach: true }
  it.each<[string, Case]>([
    ['[L1] asks with a pending event and a request', { given: [start], command: listFiles, events: opened }],
    ['[L11] attaches to the same request', { given: [start, again], command: again, events: [] }],
    [
      '[L11] supersedes another request of the same call',
      { given: [start, again], command: other, events: [...settled('superseded'), ...opened] },
    ],
    [
      '[L4] lets the deadline settle a request that it would supersede',
      {
        given: [start, expiring(again)],
        later: 1000,
        command: other,
        events: [...settled('timed_out'), ...opened],
      },
    ],
    [
      '[L13] says that a turn waits',
      { given: [start, turn], command: listFiles, events: [...opened, 'status waiting default'] },
    ],
    ['does not attach without `attach`', { given: [start, listFiles], command: listFiles, events: opened }],
    [
      'refuses more than the limit of pending interactions',
      { given: [start, listFiles, listFiles, listFiles], command: listFiles, refused: 'rate_limited' },
    ],
    [
      'approves by a rule at once, and claims that for the caller',
      {
        given: [start],
        command: { ...listFiles, claimAs: 'caller' },
        context: { rule: true },
        events: [...opened, ...settled('approved'), 'delivered caller'],
      },
    ],
    [
      'never answers a question by a rule',
      {
        given: [start],
        command: open('question', choice),
        context: { rule: true },
        events: opened,
      },
    ],
    [
      'refuses the agent of another session',
      {
        given: [start, report({ type: 'agent_session', agentSessionId: 'one' })],
        command: { ...listFiles, agentThread: 'two' },
        refused: 'ambiguous',
      },
    ],
    [
      'waits for a tool call that it could belong to',
      {
        given: [start],
        command: { ...listFiles, anchoring: { by: 'rendezvous', waited: false } },
        events: [],
      },
    ],
  ])('%s', (_, each) => expectCase(each))
})
