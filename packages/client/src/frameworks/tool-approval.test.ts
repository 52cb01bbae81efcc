import { AskbackError, type Interaction } from '@askback/protocol'
import { describe, expect, it } from 'vitest'
import type { AskbackSession, ApproveOptions } from '../asking/askback.js'
import { Asked } from '../asking/asked.js'
import { askbackTools } from './ai.js'
import { reviewIn } from './reviews.js'
import { approveCalls } from './tool-approval.js'

const approved = { kind: 'approval', answer: { decision: 'approve' } } as unknown as Interaction

/** A session whose approvals the test settles one by one. */
function sessionOfTest() {
  const open: { key: string | undefined; settle: () => void; fail: (error: unknown) => void }[] = []
  const claimed: unknown[] = []
  const approve = (toolName: string, input: unknown, { key, onSettled }: ApproveOptions<unknown> = {}) => {
    const settled = new Promise<void>((settle, fail) => open.push({ key, settle, fail }))
    const outcome = settled.then(async () => {
      await onSettled?.(approved)
      claimed.push(input)
      return { ok: true as const, value: input, interaction: approved }
    })
    return Asked.of(outcome)
  }
  return { session: { approve } as unknown as AskbackSession, open, claimed }
}

const nextTask = () => new Promise((resolve) => setImmediate(resolve))

describe('the calls of one step', () => {
  const calls = ['a', 'b'].map((id) => ({ toolName: 'deploy', input: id, id }))

  it('[L10] are claimed when all are settled, and none before', async () => {
    const { session, open, claimed } = sessionOfTest()
    const verdicts = approveCalls(calls, { session, key: 'run' })
    expect(open.map(({ key }) => key)).toEqual(['["run","a"]', '["run","b"]'])
    open[1]!.settle()
    await nextTask()
    expect(claimed).toEqual([])
    open[0]!.settle()
    expect(await verdicts).toMatchObject([
      { approved: true, input: 'a', isEdited: false },
      { approved: true, input: 'b' },
    ])
  })

  it('[L10] are claimed when the questions of the step are answered, too, and not if one has no answer', async () => {
    const { session, open, claimed } = sessionOfTest()
    let refuse: (error: Error) => void = () => {}
    const question = new Promise<void>((_, reject) => (refuse = reject))
    const verdicts = approveCalls(calls.slice(1), { session }, question)
    open[0]!.settle()
    await nextTask()
    expect(claimed).toEqual([])
    refuse(new Error('Nobody answered in time.'))
    await expect(verdicts).rejects.toThrow('Nobody answered in time.')
    expect(claimed).toEqual([])
  })

  it('[L10] are not claimed if one of them cannot be asked for', async () => {
    const { session, open, claimed } = sessionOfTest()
    const verdicts = approveCalls(calls, { session })
    open[0]!.settle()
    open[1]!.fail(new AskbackError('forbidden', 'No.'))
    await expect(verdicts).rejects.toThrow('No.')
    await nextTask()
    expect(claimed).toEqual([])
  })
})

describe('the calls of the AI SDK', () => {
  const deploy = { execute: async (input: unknown) => input }
  const execute = (session: AskbackSession) =>
    askbackTools(session, { deploy }, { key: 'run' }).deploy.execute
  const earlier = [
    { role: 'assistant', content: [{ type: 'tool-call', toolName: 'deploy', input: { b: 2, a: 1 } }] },
  ]
  const keysOf = async (made: { id: string; messages: unknown[]; input?: object }[]) => {
    const { session, open } = sessionOfTest()
    const run = execute(session) as (input: unknown, call: object) => Promise<unknown>
    for (const { id, messages, input = { a: 1, b: 2 } } of made) void run(input, { toolCallId: id, messages })
    await nextTask()
    return open.map(({ key }) => key)
  }

  it('have the same key after a restart, whatever their ids are', async () => {
    const [first] = await keysOf([{ id: 'x', messages: [] }])
    expect(await keysOf([{ id: 'y', messages: [], input: { b: 2, a: 1 } }])).toEqual([first])
  })

  it('have different keys if they do the same twice, in one step or in two', async () => {
    const [one, two] = await keysOf([
      { id: 'x', messages: [] },
      { id: 'y', messages: [] },
    ])
    const [later] = await keysOf([{ id: 'z', messages: earlier }])
    expect(new Set([one, two, later]).size).toBe(3)
  })
})

describe('a review in an interrupt', () => {
  const verdicts = [
    { approved: true, input: { a: 1 }, isEdited: false },
    { approved: true, input: { a: 2 }, isEdited: true },
    { approved: false, message: 'No.' },
  ] as const

  it('of the Agent Inbox is answered in its words, and a denial only where it takes a text', () => {
    const request = (config: object) => ({ action_request: { action: 'deploy', args: { a: 0 } }, config })
    const review = reviewIn([request({}), request({ allow_edit: true }), request({ allow_respond: true })])
    expect(review?.actions.map(({ schema }) => schema !== undefined)).toEqual([false, true, false])
    expect(review?.answer(verdicts)).toEqual([
      { type: 'accept', args: null },
      { type: 'edit', args: { action: 'deploy', args: { a: 2 } } },
      { type: 'response', args: 'No.' },
    ])
    expect(reviewIn(request({}))?.answer([verdicts[2]])).toEqual([{ type: 'ignore', args: null }])
  })

  it('is none in anything else', () => {
    for (const value of [null, 'text', [], [1], { actionRequests: 'x' }, { action_request: null }])
      expect(reviewIn(value)).toBeNull()
  })
})
