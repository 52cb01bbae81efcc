import { describe, it } from 'vitest'
import { start, turn, listFiles, report, expectCase, settled, type Case } from './decide-cases.test.helper.js'

describe('report', () => {
  const call = { type: 'tool_call', toolCallId: 'call', toolName: 'Bash', input: {} } as const
  const result = { type: 'tool_result', toolCallId: 'call', output: 'ok', isError: false } as const
  const text = { type: 'text', blockId: 'b', text: 'Hello' } as const
  it.each<[string, Case]>([
    ['logs a call once', { given: [start], command: report(call, call), events: ['tool_call'] }],
    ['logs no call that the log has', { given: [start, report(call)], command: report(call), events: [] }],
    [
      '[L7] cancels the interaction of a call that ended',
      {
        given: [start, report(call), listFiles],
        command: report(result),
        events: ['tool_result', ...settled('cancelled')],
      },
    ],
    [
      'logs a call that was only asked about before its result',
      {
        given: [start, listFiles],
        command: report(result),
        events: ['tool_call', 'tool_result', ...settled('cancelled')],
      },
    ],
    [
      'refuses the result of an unknown call',
      { given: [start], command: report(result), refused: 'not_found' },
    ],
    [
      '[L8] cancels everything when the agent fails',
      {
        given: [start, listFiles],
        command: report({ type: 'error', code: 'x', message: 'No', fatal: false }),
        events: [...settled('cancelled'), 'error'],
      },
    ],
    [
      'cancels nothing when the agent is lost',
      {
        given: [start, listFiles],
        command: report({ type: 'error', code: 'agent_lost', message: 'No', fatal: false }),
        events: ['error'],
      },
    ],
    [
      'keeps a partial result back while its call waits for an answer',
      {
        given: [start, turn, report(call), listFiles],
        command: report({ ...result, partial: true }),
        events: [],
      },
    ],
    [
      'logs the same text once',
      {
        given: [start, turn, report(text)],
        command: report(text, { ...text, text: 'Hello again' }),
        events: ['text'],
      },
    ],
    [
      'ends a turn that never began with nothing',
      { given: [start], command: report({ type: 'turn_ended', turnId: 'x', reason: 'done' }), events: [] },
    ],
  ])('%s', (_, each) => expectCase(each))
})
