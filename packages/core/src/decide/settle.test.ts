import { describe, it } from 'vitest'
import type { Command } from './command.js'
import {
  ada,
  choice,
  twoQuestions,
  aNumber,
  start,
  turn,
  listFiles,
  open,
  expiring,
  expectCase,
  settled,
  type Case,
} from './decide-cases.test.helper.js'

describe('respond', () => {
  const approve: Command = { type: 'respond', interactionId: '#1', answer: { decision: 'approve' }, ...ada }
  it.each<[string, Case]>([
    ['[L2] settles', { given: [start, listFiles], command: approve, events: settled('approved') }],
    [
      '[L10] claims for the waiter in the same append',
      {
        given: [start, listFiles],
        command: approve,
        context: { claimant: () => 'waiter' },
        events: [...settled('approved'), 'delivered waiter'],
      },
    ],
    [
      '[L13] says that the turn goes on',
      {
        given: [start, turn, listFiles],
        command: { ...approve, interactionId: '#2' },
        events: [...settled('approved'), 'status running default'],
      },
    ],
    [
      '[L3] refuses a second answer',
      { given: [start, listFiles, approve], command: approve, refused: 'already_settled' },
    ],
    [
      '[L4] refuses an answer after the deadline, which takes effect',
      {
        given: [start, expiring(listFiles)],
        later: 1000,
        command: approve,
        events: settled('timed_out'),
        refusal: 'already_settled',
      },
    ],
    [
      '[L12] refuses an answer for another digest',
      { given: [start, listFiles], command: { ...approve, digest: 'other' }, refused: 'digest_mismatch' },
    ],
    [
      '[L6] asks again if the kind finds errors',
      {
        given: [start, open('form', aNumber)],
        command: { type: 'respond', interactionId: '#1', answer: { values: { port: 10 } }, ...ada },
        events: [...settled('superseded'), 'pending yes reprompted', 'request'],
        refusal: 'invalid_answer',
      },
    ],
    [
      'refuses an answer that does not fit the schema',
      { given: [start, listFiles], command: { ...approve, answer: 'yes' }, refused: 'invalid_answer' },
    ],
    [
      'changes the mode with an approved plan',
      {
        given: [start, open('plan_review', { plan: '1. Test' })],
        command: { ...approve, answer: { decision: 'edit' } },
        events: [...settled('approved'), 'status idle acceptEdits'],
      },
    ],
    [
      'refuses an unknown id',
      { given: [start, listFiles], command: { ...approve, interactionId: 'x' }, refused: 'not_found' },
    ],
  ])('%s', (_, each) => expectCase(each))
})

describe('progress', () => {
  const first: Command = { type: 'progress', interactionId: '#1', answers: [{ selected: ['A'] }] }
  it.each<[string, Case]>([
    [
      'records a reply',
      { given: [start, open('question', twoQuestions)], command: first, events: ['interaction_progress'] },
    ],
    [
      'refuses replies to all questions, which are an answer',
      { given: [start, open('question', choice)], command: first, refused: 'invalid_answer' },
    ],
    ['refuses another kind', { given: [start, listFiles], command: first, refused: 'invalid_request' }],
  ])('%s', (_, each) => expectCase(each))
})

describe('cancel, expire and deliver', () => {
  const cancel: Command = { type: 'cancel', interactionId: '#1' }
  const expire: Command = { type: 'expire', interactionId: '#1' }
  const deliver: Command = { type: 'deliver', interactionId: '#1', to: 'agent' }
  const declared = expiring(listFiles, { answer: { decision: 'approve' } })
  it.each<[string, Case]>([
    ['cancel settles', { given: [start, listFiles], command: cancel, events: settled('cancelled') }],
    [
      'cancel refuses what is settled',
      { given: [start, listFiles, cancel], command: cancel, refused: 'already_settled' },
    ],
    [
      '[L4] expire settles at the deadline',
      {
        given: [start, expiring(listFiles)],
        later: 1000,
        command: expire,
        events: settled('timed_out'),
      },
    ],
    [
      'expire does nothing before the deadline',
      { given: [start, expiring(listFiles)], later: 999, command: expire, events: [] },
    ],
    [
      'expire does nothing with `keep`',
      { given: [start, expiring(listFiles, 'keep')], later: 1000, command: expire, events: [] },
    ],
    [
      '[L5] expire settles with the declared answer',
      { given: [start, declared], later: 1000, command: expire, events: settled('approved') },
    ],
    [
      'expire times out if the kind is no longer defined',
      {
        given: [start, declared],
        later: 1000,
        context: { kind: () => undefined },
        command: expire,
        events: settled('timed_out'),
      },
    ],
    ['deliver does nothing while it is pending', { given: [start, listFiles], command: deliver, events: [] }],
    [
      '[L10] deliver claims once',
      { given: [start, listFiles, cancel], command: deliver, events: ['delivered agent'] },
    ],
    [
      '[L10] deliver does nothing a second time',
      { given: [start, listFiles, cancel, deliver], command: deliver, events: [] },
    ],
  ])('%s', (_, each) => expectCase(each))
})
