import { AskbackError, type Interaction } from '@askback/protocol'
import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Caller, QuestionSettlement } from '../index.js'
import { ada, bob, database, listFiles, sqlite, testDesk, yes } from './test-desk.test.helper.js'

function errorOf(error: unknown): string {
  return error instanceof AskbackError ? `${error.code}: ${error.message}` : String(error)
}

const approval = { sessionId: 's', kind: 'approval', toolName: 'Bash', request: listFiles }

describe('a desk that is bound to a caller', () => {
  it('acts in the name of its own caller, also if the desk has other callers', async () => {
    const { desk, open, events, seq } = await testDesk()
    const [first, second] = [await open('question', database), await open('question', database)]
    const before = await seq()
    await desk.as(ada).respond({ interactionId: first.interactionId, answer: sqlite })
    await desk.as(bob).cancel({ interactionId: second.interactionId })
    const settled = (await events(before)).filter(({ type }) => type === 'interaction_response')
    expect(settled).toMatchObject([ada, bob])
  })

  it('does not take the caller from the input of a call', async () => {
    const { desk, open, seq } = await testDesk()
    const { interactionId } = await open('question', database)
    const before = await seq()
    const [input, target] = [
      { interactionId, answer: sqlite },
      { sessionId: 's', interactionId },
    ]
    const event = { type: 'text', blockId: 'b', text: 'Mine.' } as const
    for (const one of [desk, desk.as(ada)])
      for (const who of [
        bob,
        { via: 'web' },
        { role: 'person' },
        { fence: { key: 'k', version: 1 } },
      ] as const) {
        const call = { sessionId: 's', toolCallId: 't', ...who }
        const options = { idempotencyKey: undefined, ...who }
        const calls: (() => Promise<unknown>)[] = [
          () => one.respond({ ...input, ...who }),
          () => one.answerToolCall({ kind: 'question', answers: {}, ...call }),
          () => one.progress({ ...target, answers: [], ...who }),
          () => one.cancel({ ...target, ...who }),
          () => one.wait(interactionId, { until: 'now', ...who }),
          () => one.open({ ...approval, ...who }),
          () => one.session('s').approve({ toolName: 'Bash', ...listFiles, ...who }),
          () => one.report({ sessionId: 's', events: [event], ...who }),
          () => one.reportToolCall({ ...call, toolName: 'Bash', input: {} }),
          () => one.createSession({ id: 'other', ...who }),
          () => one.ensureSession('other', { title: 'Other', ...who }),
          () => one.interrupt('s', options),
          () => one.clear('s', options),
          () => one.setPermissionMode('s', 'plan', options),
          () => one.deleteSession('s', options),
          () => one.deleteRule('r', options),
          () => desk.as(ada).message({ sessionId: 's', text: 'Hello', ...who }),
        ]
        const refusal = `invalid_request: The input of a call has no \`${Object.keys(who)[0]}\`: bind the caller once, with desk.as({ by, via }).`
        const errors = await Promise.all(calls.map((each) => each().catch(errorOf)))
        expect(errors).toEqual(calls.map(() => refusal))
      }
    expect(await seq()).toBe(before)
    expect((await desk.sessions()).items.map(({ id }) => id)).toEqual(['s'])
  })

  it('does nothing for an agent that only people may do', async () => {
    const { desk, open, seq } = await testDesk()
    const { interactionId, toolCallId } = await open('approval', listFiles)
    const before = await seq()
    const agent = desk.as({ ...ada, role: 'agent', id: 'script' })
    const calls = [
      agent.respond({ interactionId, answer: yes }),
      agent.answerToolCall({ sessionId: 's', toolCallId, kind: 'approval', decision: 'approve' }),
      agent.progress({ sessionId: 's', interactionId, answers: [] }),
      agent.message({ sessionId: 's', text: 'yes' }),
      agent.setPermissionMode('s', 'bypassPermissions'),
      agent.deleteSession('s'),
      agent.deleteRule('r'),
      agent.adopt({ agent: 'demo', agentSessionId: 'x', items: [] }),
    ]
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'forbidden' })
    expect(await seq()).toBe(before)
    expect(await desk.interaction('s', interactionId)).toMatchObject({ status: 'pending' })
  })

  it('records the id of its caller as the opener and as the receiver of claims', async () => {
    const { desk, events } = await testDesk({ session: { permissionMode: 'bypassPermissions' } })
    const script = desk.as({ id: 'script' })
    const { interaction } = await script.open({ ...approval, claim: true })
    expect(interaction).toMatchObject({ openedBy: 'script', settlement: 'approved' })
    expect((await events()).at(-1)).toMatchObject({ type: 'interaction_delivered', to: 'script' })
  })

  it('[L10] claims a settlement at once only with `claim`, else a wait finds it unclaimed', async () => {
    const { desk, types } = await testDesk({ session: { permissionMode: 'bypassPermissions' } })
    const script = desk.as({ id: 'script' })
    const { interactionId } = (await script.open(approval)).interaction
    expect(await types()).not.toContain('interaction_delivered')
    expect(await script.wait(interactionId)).toMatchObject({ settlement: 'approved', inDoubt: false })
    expect(await script.wait(interactionId)).toMatchObject({ settlement: 'approved', inDoubt: true })
  })

  it('refuses every write of its agent once another process has the lease', async () => {
    const { desk, store, seq } = await testDesk()
    await store.kv.put('lease/s', 'here', null)
    const { key, version } = (await store.kv.get('lease/s'))!
    const agent = desk.as({ fence: { key, version } })
    await agent.session('s').report({ type: 'text', blockId: 'b', text: 'Mine.' })
    const { interactionId, toolCallId } = (await agent.open(approval)).interaction
    await store.kv.put(key, 'there', version)
    const before = await seq()
    const refused = { code: 'forbidden' }
    const writes = [
      agent.report({ sessionId: 's', events: [{ type: 'text', blockId: 'c', text: 'Late.' }] }),
      agent.reportToolCall({ sessionId: 's', toolName: 'Bash', input: {} }),
      agent.open(approval),
      agent.session('s').approve({ toolName: 'Bash', ...listFiles }),
      agent.cancel({ sessionId: 's', interactionId }),
      agent.respond({ interactionId, answer: yes }),
      agent.answerToolCall({ sessionId: 's', toolCallId, kind: 'approval', decision: 'approve' }),
      agent.setPermissionMode('s', 'plan'),
      agent.interrupt('s'),
      agent.clear('s'),
    ]
    for (const write of writes) await expect(write).rejects.toMatchObject(refused)
    expect(await seq()).toBe(before)
  })
})

describe('a desk without a bound caller', () => {
  it('acts as a person whom the log does not name', async () => {
    const { desk, open } = await testDesk()
    const { interactionId } = await open('approval', listFiles)
    const { interaction } = await desk.respond({ interactionId, answer: yes })
    expect(interaction).toMatchObject({ settlement: 'approved', via: 'direct' })
    expect(interaction).not.toHaveProperty('by')
    expect(interaction).not.toHaveProperty('openedBy')
  })
})

it('a settlement has the type of its kind, for every caller', async () => {
  const { desk } = await testDesk()
  const asked = desk.as({ id: 'script' }).session('s').ask(database)
  await expect.poll(async () => (await desk.pending()).interactions.length).toBe(1)
  const [{ interactionId }] = (await desk.pending()).interactions as [Interaction]
  await desk.as(ada).respond({ interactionId, answer: sqlite })
  const settled = await asked
  expectTypeOf(settled).toEqualTypeOf<QuestionSettlement>()
  expect(settled).toMatchObject({ settlement: 'answered', interaction: { openedBy: 'script' } })
})

it('a message needs a person', async () => {
  const { desk } = await testDesk()
  const message = { sessionId: 's', text: 'Hello' }
  expect(await desk.as(ada).message(message)).toMatchObject({ routed: 'log' })
  const anyCaller: Caller = { via: 'web' }
  const refused = { code: 'invalid_request' }
  // @ts-expect-error -- this caller may have no person
  await expect(desk.as(anyCaller).message(message)).rejects.toMatchObject(refused)
  // @ts-expect-error -- this desk has no caller
  await expect(desk.message(message)).rejects.toMatchObject(refused)
})
