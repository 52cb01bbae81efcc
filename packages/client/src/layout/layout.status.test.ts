import { asked, askedQuestion, called, ended, settled, wrote } from '../testing/session-events.js'
import { by, layoutCases, onCall, over, r1, turn } from './layout-cases.test.helper.js'

layoutCases({
  'a denied call is shown as denied after a reload, a question that timed out as timed out': {
    events: [
      turn('t1'),
      called('c1', r1),
      ...asked('i1', { ...r1, ...onCall('c1') }),
      ...settled('i1', { settlement: 'denied', message: 'no', by, ...onCall('c1') }),
      ended('c1', { output: 'The user said no.', isError: true }),
      called('c2', { ...r1, toolName: 'AskUserQuestion' }),
      ...askedQuestion('i2', { ...r1, ...onCall('c2') }),
      ...settled('i2', { settlement: 'timed_out', ...onCall('c2') }),
      ended('c2', { isError: true }),
      over('t1'),
    ],
    drawn: `
      turn t1 done
        response r1
          call c1 denied
            approval i1 denied by Ada
          call c2 failed
          question i2 timed_out`,
  },
  'a tool call that is reported after its approval does not close it': {
    events: [turn('t1'), ...asked('i1', { ...r1, ...onCall('c1') }), called('c1', r1)],
    drawn: `
      turn t1
        response r1
          call c1 waiting
            approval i1 open
      waiting`,
  },
  'a tool call that is reported twice is one block': {
    events: [turn('t1'), called('c1', r1), called('c1', { ...r1, input: {} })],
    drawn: `
      turn t1
        response r1
          group
            call c1 running
      typing`,
  },
  'an approved call keeps its block while it runs': {
    events: [
      turn('t1'),
      called('c1', r1),
      ...asked('i1', { ...r1, ...onCall('c1') }),
      ...settled('i1', { by, ...onCall('c1') }),
      { type: 'interaction_delivered', interactionId: 'i1', toolCallId: 'c1', to: 'agent' },
      ended('c1'),
    ],
    drawn: `
      turn t1
        response r1
          call c1 done
            approval i1 approved by Ada
      typing`,
  },
  'an interrupt closes every card, and no call looks as if it ran': {
    events: [
      turn('t1'),
      called('c1', r1),
      ...asked('i1', { ...r1, ...onCall('c1') }),
      called('c2', r1),
      ...askedQuestion('i2', r1),
      ...settled('i1', { settlement: 'cancelled', ...onCall('c1') }),
      ...settled('i2', { settlement: 'cancelled' }),
      wrote('b1', { ...r1, partial: true }),
      over('t1', 'interrupted'),
    ],
    drawn: `
      turn t1 interrupted
        response r1
          call c1 cancelled
            approval i1 cancelled
          group
            call c2 interrupted
          question i2 cancelled
          text "text of b1" partial`,
  },
  'a failed session shows no typing': {
    events: [
      turn('t1'),
      { type: 'error', code: 'boom', message: 'It broke.', fatal: true },
      over('t1', 'error'),
    ],
    drawn: `
      turn t1 error
        error It broke.`,
  },
})
