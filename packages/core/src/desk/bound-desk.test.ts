import type { Interaction } from '@askback/protocol'
import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Caller, QuestionSettlement } from '../index.js'
import { ada, bob, database, listFiles, sqlite, testDesk, yes } from './test-desk.test.helper.js'

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
    const { desk, open } = await testDesk()
    const { interactionId } = await open('question', database)
    const body = { interactionId, answer: sqlite, ...bob, role: 'person', id: 'bob' }
    expect((await desk.as(ada).respond(body)).interaction).toMatchObject(ada)
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
    await store.kv.put(key, 'there', version)
    const before = await seq()
    const refused = { code: 'forbidden' }
    const writes = [
      agent.report({ sessionId: 's', events: [{ type: 'text', blockId: 'c', text: 'Late.' }] }),
      agent.reportToolCall({ sessionId: 's', toolName: 'Bash', input: {} }),
      agent.open(approval),
      agent.session('s').approve({ toolName: 'Bash', ...listFiles }),
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
