import { describe, expect, it } from 'vitest'
import type { Interaction } from '@askback/protocol'
import { ada, database, isOver, sqlite, testDesk, tick, type TestDesk } from './test-desk.test.helper.js'

const call = (toolCallId: string, command: string, toolName = 'Bash') =>
  ({
    type: 'tool_call',
    toolCallId,
    toolName,
    input: { command },
    turnId: 'turn',
    responseId: 'response',
  }) as const
const report = ({ desk }: TestDesk, ...events: Parameters<typeof desk.report>[0]['events']) =>
  desk.report({ sessionId: 's', events })
const ask = ({ open }: TestDesk): Promise<Interaction> =>
  open('question', database, { toolName: 'deploy_ask', rendezvous: true })

describe('an interaction that names no tool call', () => {
  it('is matched at once to a call whose arguments name tool and operation, with its turn and response', async () => {
    const test = await testDesk()
    await report(test, call('ls', 'ls'), call('right', 'deploy-ask --now'))
    expect(await ask(test)).toMatchObject({
      toolCallId: 'right',
      anchor: 'matched',
      turnId: 'turn',
      responseId: 'response',
    })
  })

  it('waits for a call that is recorded a little later', async () => {
    const test = await testDesk()
    await report(test, call('stale', 'ls'))
    const opening = ask(test)
    await tick()
    test.clock.advance(50)
    expect(await isOver(opening)).toBe(false)
    await report(test, call('unrelated', 'pwd'))
    expect(await isOver(opening)).toBe(false)
    await report(test, call('right', 'deploy_ask'))
    expect(await opening).toMatchObject({ toolCallId: 'right' })
  })

  it('waits no longer than its second, although the clock is set back', async () => {
    const test = await testDesk()
    const { clock } = test
    let back = 0
    test.restart({
      clock: { now: () => clock.now() - back, alarm: (at, wake) => clock.alarm(at + back, wake) },
    })
    const opening = ask(test)
    await tick()
    back = 3_600_000
    clock.advance(1000)
    expect(await isOver(opening)).toBe(true)
  })

  it('is matched to a lower score, then a shell, then none, after one second and not before', async () => {
    const expected = [
      [[call('shell', 'ls'), call('weak', 'deploy')], 'weak'],
      [[call('older', 'ls'), call('newer', 'pwd', 'SHELL_COMMAND'), call('read', 'x', 'Read')], 'newer'],
      [[call('read', 'x', 'Read')], undefined],
    ] as const
    for (const [calls, toolCallId] of expected) {
      const test = await testDesk()
      await report(test, ...calls)
      const opening = ask(test)
      await tick()
      test.clock.advance(999)
      expect(await isOver(opening)).toBe(false)
      test.clock.advance(1)
      const asked = await opening
      if (toolCallId === undefined) expect(asked.anchor).toBe('own')
      else expect(asked).toMatchObject({ toolCallId, anchor: 'matched' })
    }
  })

  it('reserves its call until it is settled', async () => {
    const test = await testDesk()
    await report(test, call('one', 'deploy_ask'))
    const first = await ask(test)
    const opening = ask(test)
    await tick()
    test.clock.advance(1000)
    expect(await opening).toMatchObject({ anchor: 'own' })
    await test.desk.as(ada).respond({ interactionId: first.interactionId, answer: sqlite })
    expect(await ask(test)).toMatchObject({ toolCallId: 'one' })
  })

  it('is matched at once to a call that becomes free while it waits', async () => {
    const test = await testDesk()
    await report(test, call('one', 'deploy_ask'))
    const first = await ask(test)
    const opening = ask(test)
    await tick()
    test.clock.advance(200)
    await test.desk.as(ada).respond({ interactionId: first.interactionId, answer: sqlite })
    expect(await opening).toMatchObject({ toolCallId: 'one', anchor: 'matched' })
  })

  it('does not reserve a call if it names it', async () => {
    const test = await testDesk()
    await report(test, call('one', 'deploy_ask'))
    expect(await test.open('question', database, { toolCallId: 'one' })).toMatchObject({
      anchor: 'exact',
      turnId: 'turn',
    })
    expect(await ask(test)).toMatchObject({ toolCallId: 'one', anchor: 'matched' })
    expect(await test.open('question', database, { toolCallId: 'one' })).toMatchObject({ toolCallId: 'one' })
  })

  it('finds a running call, also after later messages', async () => {
    const test = await testDesk()
    await report(test, call('one', 'deploy_ask'))
    for (let count = 0; count < 25; count++)
      await test.desk.as(ada).message({ sessionId: 's', text: 'Well?', route: 'agent' })
    expect(await ask(test)).toMatchObject({ toolCallId: 'one', anchor: 'matched', turnId: 'turn' })
    expect(await test.open('question', database, { toolCallId: 'one' })).toMatchObject({ turnId: 'turn' })
  })

  it('finds a call until 30 s after its end', async () => {
    const test = await testDesk()
    const result = { type: 'tool_result', toolCallId: 'one', output: '', isError: false } as const
    await report(test, call('one', 'deploy_ask'), result)
    test.clock.jump(29_999)
    const { interactionId, toolCallId } = await ask(test)
    expect(toolCallId).toBe('one')
    await test.desk.cancel({ interactionId })
    test.clock.jump(1)
    const opening = ask(test)
    await tick()
    test.clock.advance(1000)
    expect(await opening).toMatchObject({ anchor: 'own' })
  })

  it('is opened once for repeated requests with the same key', async () => {
    const test = await testDesk()
    const send = () => test.opened('question', database, { rendezvous: true, idempotencyKey: 'k' })
    const openings = [send(), send()]
    await tick()
    test.clock.advance(1000)
    const opened = await Promise.all(openings)
    expect(opened.map(({ created }) => created).filter(Boolean)).toHaveLength(1)
    expect((await test.desk.pending()).interactions).toHaveLength(1)
  })

  it('is refused as unavailable if the desk closes while it waits', async () => {
    const test = await testDesk()
    const opening = ask(test)
    await tick()
    test.desk.close()
    test.clock.advance(1000)
    await expect(opening).rejects.toMatchObject({ code: 'unavailable' })
  })
})
