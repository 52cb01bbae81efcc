import { describe, expect, it } from 'vitest'
import { type ReportedEvent } from '../index.js'
import { MAX_OUTPUT_BYTES } from '../internal.js'
import { ada, listFiles, no, testDesk, yes, type TestDesk } from './test-desk.test.helper.js'

const call = { type: 'tool_call', toolCallId: 't', toolName: 'Bash', input: { command: 'ls' } } as const
const result = { type: 'tool_result', toolCallId: 't', output: 'a.ts', isError: false } as const

const report = ({ desk }: TestDesk, ...events: unknown[]) =>
  desk.report({ sessionId: 's', events: events as ReportedEvent[] })

describe('what an agent reports', () => {
  it('is logged in the reported order', async () => {
    const test = await testDesk({ session: { agent: 'demo' } })
    const reported = [
      { type: 'turn_started', turnId: 'turn' },
      { type: 'agent_session', agentSessionId: 'thread' },
      { type: 'thinking', blockId: 'b1', text: 'Hm.', turnId: 'turn', responseId: 'r' },
      { type: 'text', blockId: 'b2', text: 'Hi.', turnId: 'turn', responseId: 'r', partial: true },
      { ...call, turnId: 'turn', source: 'agent', parentToolCallId: 'p' },
      result,
      { type: 'turn_ended', turnId: 'turn', reason: 'done' },
    ]
    await report(test, ...reported)
    expect(await test.events(1)).toMatchObject(reported)
  })

  it('changes nothing when it is repeated', async () => {
    const test = await testDesk({ session: { agent: 'demo' } })
    const once = [
      { type: 'turn_started', turnId: 'turn' },
      { type: 'agent_session', agentSessionId: 'thread' },
      { type: 'text', blockId: 'b', text: 'Hi.', turnId: 'turn' },
      { ...call, turnId: 'turn' },
      result,
      { type: 'turn_ended', turnId: 'turn', reason: 'done' },
    ]
    await report(test, ...once, ...once)
    const before = await test.events()
    await report(test, ...once)
    expect(await test.events()).toEqual(before)
    expect(before).toHaveLength(once.length + 1)
  })

  it('drops the agent’s own session id with its context, once', async () => {
    const test = await testDesk({ session: { agent: 'demo' } })
    const cleared = { type: 'context_cleared' }
    await report(test, { type: 'agent_session', agentSessionId: 'thread' }, cleared, cleared)
    await report(test, cleared)
    expect(await test.events(1)).toMatchObject([{ type: 'agent_session' }, cleared])
    expect((await test.desk.snapshot('s')).state.agentSessionId).toBeNull()
    await report(test, { type: 'agent_session', agentSessionId: 'thread' })
    expect((await test.desk.snapshot('s')).state.agentSessionId).toBe('thread')
  })

  it.each([
    ['agent_error', 0],
    ['agent_lost', 1],
    ['agent_retries', 1],
    ['agent_decides', 1],
    ['approval_unused', 1],
    ['plan_missing', 1],
  ])('[L8] an error %s leaves %i pending', async (code, left) => {
    const test = await testDesk({ session: { agent: 'demo' } })
    const questions = [{ header: 'Q', question: 'Sure?', options: [], multiSelect: false }]
    await test.desk.open({ sessionId: 's', kind: 'question', request: { questions } })
    await report(test, { type: 'error', code, message: 'It is so.', fatal: false })
    expect((await test.desk.pending({ sessionId: 's' })).interactions).toHaveLength(left)
  })

  it('with a result of an unknown call is refused as not_found, and nothing of it is logged', async () => {
    const test = await testDesk()
    await expect(report(test, call, { ...result, toolCallId: 'x' })).rejects.toMatchObject({
      code: 'not_found',
    })
    expect(await test.seq()).toBe(1)
  })

  it('ends a call with its first result, which a later one does not replace', async () => {
    const test = await testDesk()
    await report(test, call, result)
    await report(test, { ...result, output: 'else', isError: true })
    expect((await test.desk.snapshot('s')).state.toolCalls).toMatchObject([
      { result: { output: 'a.ts', isError: false } },
    ])
  })

  it.each([
    ['a text', 'é'.repeat(MAX_OUTPUT_BYTES), 2 * MAX_OUTPUT_BYTES],
    [
      'a text that would be cut inside a character',
      `a${'é'.repeat(MAX_OUTPUT_BYTES)}`,
      2 * MAX_OUTPUT_BYTES + 1,
    ],
    ['a list', ['x'.repeat(MAX_OUTPUT_BYTES)], MAX_OUTPUT_BYTES + 4],
  ])('%s is cut at 256 KiB, and the log has the full size', async (_, output, truncated) => {
    const test = await testDesk()
    await report(test, call, { ...result, output })
    const last = (await test.events()).at(-1)
    expect(last).toMatchObject({ type: 'tool_result', truncated })
    const kept = new TextEncoder().encode((last as { output: string }).output).length
    expect(kept).toBeLessThanOrEqual(MAX_OUTPUT_BYTES)
    expect(kept).toBeGreaterThan(MAX_OUTPUT_BYTES - 4)
  })

  it('an output of exactly 256 KiB is not cut', async () => {
    const test = await testDesk()
    const output = 'x'.repeat(MAX_OUTPUT_BYTES)
    await report(test, call, { ...result, output })
    expect((await test.events()).at(-1)).toMatchObject({ output })
    expect((await test.events()).at(-1)).not.toHaveProperty('truncated')
  })

  it.each([
    [{ type: 'interaction_response', interactionId: 'x', toolCallId: 't', settlement: 'approved' }],
    [{ type: 'session_status', status: 'ended', permissionMode: 'bypassPermissions' }],
    [{ type: 'session_started', agent: null, permissionMode: 'bypassPermissions' }],
    [{ type: 'user_message', text: 'Hi', by: { id: 'ada' } }],
    [{ type: 'interaction_delivered', interactionId: 'x', toolCallId: 't', to: 'me' }],
    [{ type: 'nonsense' }],
    [{ ...call, toolName: undefined }],
    [{ ...call, toolCallId: '' }],
    [{ ...call, input: undefined }],
    [{ ...result, isError: 'no' }],
    [{ type: 'turn_ended', turnId: 'turn', reason: 'bored' }],
    [{ type: 'text', blockId: 'b' }],
    ['text'],
    [null],
  ])('%j is refused: it is not a report', async (event) => {
    const test = await testDesk()
    await expect(report(test, event)).rejects.toMatchObject({ code: 'invalid_request' })
    expect(await test.seq()).toBe(1)
  })

  it('cannot set its own position, time or session', async () => {
    const test = await testDesk()
    await report(test, { ...call, seq: 99, id: 'mine', sessionId: 'other', at: 1, settlement: 'approved' })
    const [logged] = await test.events(1)
    expect(logged).toMatchObject({ ...call, seq: 2, sessionId: 's', at: test.clock.now() })
    expect(logged!.id).not.toBe('mine')
    expect(logged).not.toHaveProperty('settlement')
  })
})

describe('a result that is an error', () => {
  const failed = { ...result, output: 'text for the model', isError: true }
  const owned = { toolCallId: 't', toolName: 'Bash', attach: true }
  const review = { plan: '# Plan' }
  const adjust = { decision: 'adjust', feedback: 'Smaller steps.' }

  async function ends(test: TestDesk): Promise<string | undefined> {
    await report(test, failed)
    const logged = (await test.events()).findLast((event) => event.type === 'tool_result')
    const { toolCalls } = (await test.desk.snapshot('s')).state
    expect(toolCalls[0]!.result!.settledBy).toBe(logged?.settledBy)
    return logged?.settledBy
  }

  it.each([
    ['denied', 'approval', listFiles, no],
    ['adjusted', 'plan_review', review, adjust],
    [undefined, 'approval', listFiles, yes],
    [undefined, 'plan_review', review, { decision: 'edit' }],
  ])('has %s if a person settled the %s so', async (settledBy, kind, request, answer) => {
    const test = await testDesk({ session: { agent: 'demo' } })
    await report(test, call)
    const { interactionId } = await test.open(kind, request, owned)
    await test.desk.as(ada).respond({ sessionId: 's', interactionId, answer })
    expect(await ends(test)).toBe(settledBy)
  })

  it('has cancelled or timed_out if no person answered', async () => {
    const test = await testDesk({ session: { agent: 'demo' } })
    await report(test, call)
    const { interactionId } = await test.open('approval', listFiles, owned)
    await test.desk.as(ada).cancel({ sessionId: 's', interactionId })
    expect(await ends(test)).toBe('cancelled')

    const late = await testDesk({ session: { agent: 'demo' } })
    await report(late, call)
    await late.open('approval', listFiles, { ...owned, timeoutMs: 1000 })
    late.clock.advance(1000)
    await expect.poll(() => late.desk.pending({ sessionId: 's' })).toMatchObject({ interactions: [] })
    expect(await ends(late)).toBe('timed_out')
  })

  it('has the settlement also if the request named no tool', async () => {
    const own = { toolCallId: 't', attach: true }
    const test = await testDesk({ session: { agent: 'demo' } })
    await report(test, call)
    const { interactionId } = await test.open('plan_review', review, own)
    await test.desk.as(ada).respond({ sessionId: 's', interactionId, answer: adjust })
    expect(await ends(test)).toBe('adjusted')

    const late = await testDesk({ session: { agent: 'demo' } })
    await report(late, call)
    await late.open(
      'question',
      { questions: [{ question: 'Which?', options: [] }] },
      { ...own, timeoutMs: 1000 },
    )
    late.clock.advance(1000)
    await expect.poll(() => late.desk.pending({ sessionId: 's' })).toMatchObject({ interactions: [] })
    expect(await ends(late)).toBe('timed_out')
  })

  it('is a failure of the tool if the end of the call cancelled its interaction (L7)', async () => {
    const test = await testDesk({ session: { agent: 'demo' } })
    await report(test, call)
    await test.open('approval', listFiles, owned)
    expect(await ends(test)).toBeUndefined()
  })

  it('is a failure of the tool if a script inside the call was denied something', async () => {
    const test = await testDesk({ session: { agent: 'demo' } })
    await report(test, call)
    const { interactionId } = await test.open('approval', listFiles, {
      toolCallId: 't',
      toolName: 'deploy_web',
    })
    await test.desk.as(ada).respond({ sessionId: 's', interactionId, answer: no })
    expect(await ends(test)).toBeUndefined()
  })

  it('is a failure of the tool if a script was denied a tool of the same name', async () => {
    const test = await testDesk({ session: { agent: 'demo' } })
    await report(test, call)
    const opening = test.open(
      'approval',
      { input: { command: 'rm a.ts' } },
      { toolName: 'Bash', rendezvous: true },
    )
    test.clock.advance(1000)
    const { interactionId, toolCallId, anchor } = await opening
    expect({ toolCallId, anchor }).toEqual({ toolCallId: 't', anchor: 'matched' })
    await test.desk.as(ada).respond({ sessionId: 's', interactionId, answer: no })
    expect(await ends(test)).toBeUndefined()
  })

  it('follows the last decision: a call that was denied and then approved has failed', async () => {
    const test = await testDesk({ session: { agent: 'demo' } })
    await report(test, call)
    for (const [input, answer] of [
      [{ command: 'ls' }, no],
      [{ command: 'ls -a' }, yes],
    ] as const) {
      const { interactionId } = await test.open('approval', { input }, owned)
      await test.desk.as(ada).respond({ sessionId: 's', interactionId, answer })
    }
    expect(await ends(test)).toBeUndefined()
  })
})
