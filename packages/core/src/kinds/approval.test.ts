import { approvalAnswer, type ApprovalAnswer } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import { approvalKind } from './approval.js'
import { parseWith } from './kinds.js'

const request = { input: { command: 'ls' } }
const settle = (answer: ApprovalAnswer) => approvalKind.settle!(request, answer)

describe('settling an approval', () => {
  it.each<ApprovalAnswer>([
    { decision: 'approve' },
    { decision: 'approve', scope: 'once' },
    { decision: 'approve', scope: 'session' },
    { decision: 'approve', scope: 'always' },
    { decision: 'approve', updatedInput: { command: 'ls -l' } },
    { decision: 'approve', scope: 'once', updatedInput: null },
  ])('%j settles approved', (answer) => {
    expect(settle(answer)).toStrictEqual({ settlement: 'approved', answer })
  })

  it('a denial has its reason as the message to the agent', () => {
    const answer: ApprovalAnswer = { decision: 'deny', message: 'not on a Friday' }
    expect(settle(answer)).toStrictEqual({ settlement: 'denied', answer, message: 'not on a Friday' })
  })

  it.each<ApprovalAnswer>([
    { decision: 'deny' },
    { decision: 'deny', scope: 'once' },
    { decision: 'deny', message: ' ' },
  ])('%j settles denied without a reason', (answer) => {
    expect(settle(answer)).toStrictEqual({ settlement: 'denied', answer })
  })

  it.each<[ApprovalAnswer, string]>([
    [{ decision: 'deny', scope: 'session' }, 'cannot have the scope "session"'],
    [{ decision: 'deny', scope: 'always' }, 'cannot have the scope "always"'],
    [{ decision: 'deny', updatedInput: {} }, 'cannot have an edited input'],
    [{ decision: 'approve', scope: 'session', updatedInput: {} }, 'only have the scope "once"'],
    [{ decision: 'approve', scope: 'always', updatedInput: {} }, 'only have the scope "once"'],
  ])('[L9] rejects %j', (answer, message) => {
    expect(() => settle(answer)).toThrow(
      expect.objectContaining({
        code: 'invalid_answer',
        message: expect.stringContaining(message) as string,
      }),
    )
  })

  it.each([
    [{}],
    [{ decision: 'yes' }],
    [{ decision: 'approve', scope: 'forever' }],
    [{ decision: 'approve', always: true }],
    ['approve'],
    [null],
  ])('[L9] does not interpret %j', (answer) => {
    expect(() => parseWith(approvalAnswer, answer, { code: 'invalid_answer', what: 'the answer' })).toThrow(
      expect.objectContaining({ code: 'invalid_answer' }),
    )
  })
})
