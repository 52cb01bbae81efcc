import { asked, askedQuestion, called, settled, wrote } from '../testing/session-events.js'
import { by, layoutCases, onCall, r1, says, turn } from './layout-cases.test.helper.js'

layoutCases({
  'a working agent shows typing': {
    events: [says('hi', 't1'), turn('t1'), wrote('b1', r1)],
    drawn: `
      turn t1
        message hi
        response r1
          text "text of b1"
      typing`,
  },
  'a pending approval shows waiting instead of typing': {
    events: [turn('t1'), called('c1', r1), ...asked('i1', { ...onCall('c1'), ...r1 })],
    drawn: `
      turn t1
        response r1
          call c1 waiting
            approval i1 open
      waiting`,
  },
  'a pending questionnaire shows waiting instead of typing': {
    events: [turn('t1'), ...askedQuestion('i1', r1)],
    drawn: `
      turn t1
        response r1
          question i1 open
      waiting`,
  },
  'typing is shown again when the last of several is settled': {
    events: [
      turn('t1'),
      ...asked('i1', r1),
      ...asked('i2', r1),
      ...settled('i1', { by }),
      ...settled('i2', { settlement: 'denied', by }),
    ],
    drawn: `
      turn t1
        response r1
          placeholder call-i1 approved
            approval i1 approved by Ada
          placeholder call-i2 denied
            approval i2 denied by Ada
      typing`,
  },
  'one of several that is still pending shows waiting': {
    events: [turn('t1'), ...asked('i1'), ...asked('i2'), ...settled('i1', { settlement: 'timed_out' })],
    drawn: `
      turn t1
        tool-call call-i1
          placeholder call-i1 timed_out
            approval i1 timed_out
        tool-call call-i2
          placeholder call-i2 waiting
            approval i2 open
      waiting`,
  },
  '[L2] a response alone does not end waiting: interaction_pending: false does': {
    events: [turn('t1'), ...asked('i1', r1), settled('i1')[0]!],
    drawn: `
      turn t1
        response r1
          placeholder call-i1 waiting
            approval i1 open
      waiting`,
  },
  '[L2] a request without interaction_pending: true is not waiting, and not decided': {
    events: [turn('t1'), asked('i1', r1)[1]!],
    drawn: `
      turn t1
        response r1
          placeholder call-i1 interrupted
            approval i1 closed
      typing`,
  },
  'something pending outside a turn shows waiting': {
    events: askedQuestion('i1'),
    drawn: `
      turn s1-e3
        tool-call call-i1
          question i1 open
      waiting`,
  },
})
