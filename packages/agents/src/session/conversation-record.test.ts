import { createDesk, memoryStore, type Desk } from '@askback/core'
import { beforeEach, expect, it, onTestFinished } from 'vitest'
import { conversationRecord, withConversationRecord } from './conversation-record.js'

let desk: Desk
const me = { by: { id: 'me' }, via: 'direct' } as const

beforeEach(async () => {
  desk = createDesk({ store: memoryStore(), onError: (error) => expect.unreachable(String(error)) })
  onTestFinished(() => desk.close())
  await desk.createSession({ id: 's', agent: 'acp' })
})

const turn = { turnId: 't1' }
const report = (...events: Parameters<ReturnType<Desk['session']>['report']>) =>
  desk.session('s').report(...events)
const recordNow = async (next?: string) =>
  conversationRecord((await desk.session('s').snapshot()).state, next)

it('has what was said, which tools were called, and what came of it', async () => {
  await desk.as(me).message({ sessionId: 's', text: 'Fix it' })
  await report(
    { type: 'text', blockId: 'b1', text: 'I look.', ...turn },
    { type: 'tool_call', toolCallId: 'c1', toolName: 'shell', input: { command: 'ls' }, ...turn },
    { type: 'tool_result', toolCallId: 'c1', output: 'a.ts', isError: false },
    { type: 'tool_call', toolCallId: 'c2', toolName: 'shell', input: { command: 'rm a.ts' }, ...turn },
  )
  expect(await recordNow()).toBe(
    [
      'User: Fix it',
      'You: I look.',
      'You called shell {"command":"ls"}\nResult: a.ts',
      'You called shell {"command":"rm a.ts"} (no result is known)',
    ].join('\n\n'),
  )
})

it('leaves out the message that follows it', async () => {
  await report({ type: 'text', blockId: 'b1', text: 'Hello.', ...turn })
  await desk.as(me).message({ sessionId: 's', text: 'Go on' })
  expect(await recordNow('Go on')).toBe('You: Hello.')
  expect(await withConversationRecord(desk.session('s'), 'Go on')).toMatch(
    /You: Hello\.\n<\/record>\n\nGo on$/u,
  )
})

it('is nothing for a session in which nothing has been said', async () => {
  expect(await recordNow()).toBeNull()
  expect(await withConversationRecord(desk.session('s'), 'Hello')).toBe('Hello')
})

it('keeps the end of a long conversation, and shortens long outputs', async () => {
  await report({ type: 'text', blockId: 'b1', text: 'first', ...turn })
  await report({ type: 'tool_call', toolCallId: 'c1', toolName: 'cat', input: {}, ...turn })
  await report({ type: 'tool_result', toolCallId: 'c1', output: 'x'.repeat(5000), isError: false })
  expect((await recordNow())?.length).toBeLessThan(1200)
  await report({ type: 'text', blockId: 'b2', text: `${'y'.repeat(30_000)} last`, ...turn })
  const record = await recordNow()
  expect(record?.length).toBeLessThan(24_100)
  expect(record).toMatch(/^\[…\]/u)
  expect(record).toMatch(/ last$/u)
})
