import { asked, askedQuestion, called, ended, settled, wrote } from '../testing/session-events.js'
import { by, layoutCases, onCall, r1, turn } from './layout-cases.test.helper.js'

layoutCases({
  'an approval without its call has a placeholder, which the call replaces': {
    events: [turn('t1'), ...asked('i1', { ...r1, ...onCall('c1') }), called('c1', r1), ended('c1')],
    drawn: `
      turn t1
        response r1
          call c1 done
            approval i1 closed
      waiting`,
  },
  'a placeholder says how its request came': {
    events: [turn('t1'), ...asked('i1', { ...r1, ...onCall('c1'), source: 'http' })],
    drawn: `
      turn t1
        response r1
          placeholder c1 waiting (via HTTP)
            approval i1 open
      waiting`,
  },
  'a questionnaire without its call has no placeholder': {
    events: [
      turn('t1'),
      ...askedQuestion('i1', onCall('c1')),
      ...settled('i1', { settlement: 'answered', by, ...onCall('c1') }),
      ended('c1'),
    ],
    drawn: `
      turn t1
        tool-call c1
          question i1 answered by Ada
      typing`,
  },
  'a request that asks again replaces the one before': {
    events: [
      turn('t1'),
      ...askedQuestion('i1', { kind: 'form', ...onCall('c1') }),
      wrote('b1', r1),
      ...settled('i1', { settlement: 'superseded', supersededBy: 'i2', ...onCall('c1') }),
      ...askedQuestion('i2', { kind: 'form', errors: { port: 'too big' }, ...onCall('c1') }),
      ...settled('i2', { settlement: 'superseded', supersededBy: 'i3', ...onCall('c1') }),
      ...askedQuestion('i3', { kind: 'form', errors: { port: 'too small' }, ...onCall('c1') }),
    ],
    drawn: `
      turn t1
        tool-call c1
          form i3 open for i1, i2
        response r1
          text "text of b1"
      waiting`,
  },
  'a changed request replaces the approval on its call': {
    events: [
      turn('t1'),
      called('c1', r1),
      ...asked('i1', { ...r1, ...onCall('c1') }),
      ...settled('i1', { settlement: 'superseded', supersededBy: 'i2', ...onCall('c1') }),
      ...asked('i2', { ...r1, ...onCall('c1') }),
    ],
    drawn: `
      turn t1
        response r1
          call c1 waiting
            approval i2 open for i1
      waiting`,
  },
  'a failed call closes its approval, and typing is shown again': {
    events: [
      turn('t1'),
      called('c1', r1),
      ...asked('i1', { ...r1, ...onCall('c1') }),
      ended('c1', { isError: true }),
      ...settled('i1', { settlement: 'cancelled', ...onCall('c1') }),
    ],
    drawn: `
      turn t1
        response r1
          call c1 failed
            approval i1 cancelled
      typing`,
  },
  'a plan that is sent back for changes is adjusted, not failed': {
    events: [
      turn('t1'),
      called('c1', r1),
      ...askedQuestion('i1', { kind: 'plan_review', ...r1, ...onCall('c1') }),
      ...settled('i1', { settlement: 'denied', by, ...onCall('c1') }),
      ended('c1', { isError: true, settledBy: 'adjusted' }),
    ],
    drawn: `
      turn t1
        response r1
          call c1 adjusted
          plan_review i1 denied by Ada
      typing`,
  },
  'a call that a person interrupted is not failed, whether it waited or ran': {
    events: [
      turn('t1'),
      called('c1', r1),
      ...asked('i1', { ...r1, ...onCall('c1') }),
      called('c2', r1),
      ...settled('i1', { settlement: 'cancelled', by, ...onCall('c1') }),
      ended('c1', { isError: true, settledBy: 'interrupted' }),
      ended('c2', { isError: true, settledBy: 'interrupted' }),
    ],
    drawn: `
      turn t1
        response r1
          call c1 interrupted
            approval i1 cancelled by Ada
          group
            call c2 interrupted
      typing`,
  },
  'the end of a shell call does not close what a script in it has asked': {
    events: [
      turn('t1'),
      called('c1', r1),
      ...askedQuestion('i1', { ...r1, ...onCall('c1'), anchor: 'matched' }),
      ended('c1'),
    ],
    drawn: `
      turn t1
        response r1
          call c1 waiting
          question i1 open
      waiting`,
  },
  'a denied request of a script does not mark its shell call as denied': {
    events: [
      turn('t1'),
      called('c1', r1),
      ...asked('i1', { ...r1, ...onCall('c1'), anchor: 'matched' }),
      ...settled('i1', { settlement: 'denied', by, ...onCall('c1') }),
      ended('c1'),
    ],
    drawn: `
      turn t1
        response r1
          call c1 done
            approval i1 denied by Ada
      typing`,
  },
})
