import { asked, askedQuestion, called, ended, settled, wrote } from '../testing/session-events.js'
import { by, layoutCases, onCall, r1, turn } from './layout-cases.test.helper.js'

layoutCases({
  'a call without a response id has a container of its own': {
    events: [turn('t1'), called('c1', { source: 'http' })],
    drawn: `
      turn t1
        tool-call c1
          group
            call c1 running (via HTTP)
      typing`,
  },
  'a call without a turn is in a turn named after its event': {
    events: [called('c1', { source: 'cli' }), ended('c1')],
    drawn: `
      turn s1-e2
        tool-call c1
          group
            call c1 done (via CLI)`,
  },
  'a questionnaire without a response id is in the container of its call': {
    events: [turn('t1'), called('c1', { source: 'cli' }), ...askedQuestion('i1', onCall('c1'))],
    drawn: `
      turn t1
        tool-call c1
          call c1 waiting (via CLI)
          question i1 open
      waiting`,
  },
  'a questionnaire with a response id is in that response': {
    events: [
      turn('t1'),
      wrote('b1', r1),
      called('c1', r1),
      ...askedQuestion('i1', { ...r1, ...onCall('c1') }),
      ...settled('i1', { settlement: 'answered', by, ...onCall('c1') }),
      ended('c1'),
      wrote('b2', r1),
    ],
    drawn: `
      turn t1
        response r1
          text "text of b1"
          call c1 done
          question i1 answered by Ada
          text "text of b2"
      typing`,
  },
  'an approval without a response id is shown at its call': {
    events: [turn('t1'), called('c1', { source: 'http' }), ...asked('i1', onCall('c1'))],
    drawn: `
      turn t1
        tool-call c1
          call c1 waiting (via HTTP)
            approval i1 open
      waiting`,
  },
  'consecutive calls form a group, which text ends': {
    events: [
      turn('t1'),
      called('c1', r1),
      called('c2', r1),
      ended('c1'),
      wrote('b1', r1),
      called('c3', r1),
      ended('c2', { isError: true }),
    ],
    drawn: `
      turn t1
        response r1
          group
            call c1 done
            call c2 failed
          text "text of b1"
          group
            call c3 running
      typing`,
  },
  'calls without a response id form groups, too': {
    events: [turn('t1'), called('c1'), called('c2')],
    drawn: `
      turn t1
        tool-call c1
          group
            call c1 running
            call c2 running
      typing`,
  },
  'a call that is asked about leaves its group and splits it': {
    events: [
      turn('t1'),
      called('c1', r1),
      called('c2', r1),
      called('c3', r1),
      ...asked('i1', { ...r1, ...onCall('c2') }),
      ...settled('i1', { ...onCall('c2'), by }),
    ],
    drawn: `
      turn t1
        response r1
          group
            call c1 running
          call c2 running
            approval i1 approved by Ada
          group
            call c3 running
      typing`,
  },
  'a call that a questionnaire is about leaves its group, also without a response id': {
    events: [turn('t1'), called('c1'), called('c2'), called('c3'), ...askedQuestion('i1', onCall('c2'))],
    drawn: `
      turn t1
        tool-call c1
          group
            call c1 running
        tool-call c2
          call c2 waiting
          question i1 open
        tool-call c3
          group
            call c3 running
      waiting`,
  },
})
