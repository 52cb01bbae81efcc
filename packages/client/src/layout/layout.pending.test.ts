import { asked, askedQuestion, called, settled, wrote } from '../testing/session-events.js'
import { by, layoutCases, onCall, r1, says, turn } from './layout-cases.test.helper.js'

layoutCases({
  'an agent that works types': {
    events: [says('hi', 't1'), turn('t1'), wrote('b1', r1)],
    drawn: `
      turn t1
        message hi
        response r1
          text "text of b1"
      typing`,
  },
  'pending suppresses typing and says so, with an approval': {
    events: [turn('t1'), called('c1', r1), ...asked('i1', { ...onCall('c1'), ...r1 })],
    drawn: `
      turn t1
        response r1
          call c1 waiting
            approval i1 open
      waiting`,
  },
  'pending suppresses typing and says so, with a questionnaire': {
    events: [turn('t1'), ...askedQuestion('i1', r1)],
    drawn: `
      turn t1
        response r1
          question i1 open
      waiting`,
  },
  'typing comes back when the last of several is settled': {
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
  'one that is still pending keeps typing suppressed': {
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
  '[L2] a response alone ends no waiting: the end of pending does': {
    events: [turn('t1'), ...asked('i1', r1), settled('i1')[0]!],
    drawn: `
      turn t1
        response r1
          placeholder call-i1 waiting
            approval i1 open
      waiting`,
  },
  '[L2] a request that is not pending keeps nobody waiting, and looks decided by nobody': {
    events: [turn('t1'), asked('i1', r1)[1]!],
    drawn: `
      turn t1
        response r1
          placeholder call-i1 interrupted
            approval i1 closed
      typing`,
  },
  'pending outside any turn waits without typing': {
    events: askedQuestion('i1'),
    drawn: `
      turn s1-e3
        tool-call call-i1
          question i1 open
      waiting`,
  },
})
