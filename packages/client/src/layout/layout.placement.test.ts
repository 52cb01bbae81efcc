import { asked, askedQuestion, called, settled } from '../testing/session-events.js'
import { by, layoutCases, onCall, over, r1, says, turn } from './layout-cases.test.helper.js'

layoutCases({
  'several interactions of one call each have a card': {
    events: [
      turn('t1'),
      called('c1', r1),
      ...asked('i1', { ...r1, ...onCall('c1'), anchor: 'matched' }),
      ...asked('i2', { ...r1, ...onCall('c1'), anchor: 'matched' }),
      ...askedQuestion('i3', { ...r1, ...onCall('c1'), anchor: 'matched' }),
      ...settled('i1', { by, ...onCall('c1') }),
    ],
    drawn: `
      turn t1
        response r1
          call c1 waiting
            approval i1 approved by Ada
            approval i2 open
          question i3 open
      waiting`,
  },
  'denying one call does not affect others': {
    events: [
      turn('t1'),
      called('c1', r1),
      called('c2', r1),
      ...asked('i1', { ...r1, ...onCall('c1') }),
      ...asked('i2', { ...r1, ...onCall('c2') }),
      ...settled('i1', { settlement: 'denied', by, ...onCall('c1') }),
    ],
    drawn: `
      turn t1
        response r1
          call c1 denied
            approval i1 denied by Ada
          call c2 waiting
            approval i2 open
      waiting`,
  },
  'a call that a rule approved stays in its group': {
    events: [
      turn('t1'),
      called('c1', r1),
      ...asked('i1', { ...r1, ...onCall('c1'), requestedAt: 1_800_000_005_000 }),
      ...settled('i1', { via: 'policy', ...onCall('c1') }),
      called('c2', r1),
    ],
    drawn: `
      turn t1
        response r1
          group
            call c1 running
              approval i1 approved
            call c2 running
      typing`,
  },
  'calls of a subagent are nested, and its questions are never hidden in them': {
    events: [
      turn('t1'),
      called('task', { ...r1, toolName: 'Task' }),
      called('c1', { ...r1, parentToolCallId: 'task' }),
      called('c2', { ...r1, parentToolCallId: 'task' }),
      called('deep', { ...r1, parentToolCallId: 'c2' }),
      ...asked('i1', { ...r1, ...onCall('deep'), agentId: 'helper' }),
      ...askedQuestion('i2', { ...r1, ...onCall('c1'), agentId: 'helper' }),
    ],
    drawn: `
      turn t1
        response r1
          call task running contains one that waits
            call c1 waiting
            call c2 running contains one that waits
              call deep waiting
                approval i1 open asked by helper
          question i2 open asked by helper
      waiting`,
  },
  'a call whose parent is not known is not nested': {
    events: [turn('t1'), called('c1', { ...r1, parentToolCallId: 'gone' })],
    drawn: `
      turn t1
        response r1
          group
            call c1 running
      typing`,
  },
  'calls whose parents form a circle are all shown': {
    events: [
      turn('t1'),
      called('c1', { ...r1, parentToolCallId: 'c2' }),
      called('c2', { ...r1, parentToolCallId: 'c1' }),
    ],
    drawn: `
      turn t1
        response r1
          group
            call c1 running
            call c2 running
      typing`,
  },
  'an interaction that names another turn and response is shown at its call': {
    events: [
      turn('t1'),
      called('c1', r1),
      called('c2', r1),
      over('t1'),
      turn('t2'),
      ...asked('i1', { turnId: 't2', responseId: 'other', ...onCall('c1') }),
      ...askedQuestion('i2', { turnId: 't2', responseId: 'other', ...onCall('c2') }),
    ],
    drawn: `
      turn t1 done
        response r1
          call c1 waiting
            approval i1 open
          call c2 waiting
          question i2 open
      turn t2
      waiting`,
  },
  'a cleared context and messages without a turn are shown where they happened': {
    events: [says('one'), says('two'), { type: 'context_cleared' }, says('three')],
    drawn: `
      turn s1-e2
        message one
      turn s1-e3
        message two
        cleared
      turn s1-e5
        message three`,
  },
})
