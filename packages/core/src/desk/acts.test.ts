import { describe, expect, it } from 'vitest'
import { ada, bob, listFiles, testDesk, yes, type TestDesk } from './test-desk.test.helper.js'

const HOUR = 3_600_000

const actsOf = async ({ desk }: TestDesk) => (await desk.audit()).items.filter((row) => 'act' in row)
const plan = { plan: '# Do it' }

describe('the person who acted', () => {
  it('is in the event and in the audit when a person changes the mode', async () => {
    const test = await testDesk()
    const seq = await test.seq()
    await test.desk.as(bob).setPermissionMode('s', 'bypassPermissions')
    expect(await test.events(seq)).toMatchObject([
      { type: 'session_status', permissionMode: 'bypassPermissions', ...bob },
    ])
    expect(await actsOf(test)).toEqual([
      { at: test.clock.now(), act: 'permission_mode', sessionId: 's', subject: 'bypassPermissions', ...bob },
    ])
  })

  it('is replaced by the surface when a program changes the mode in its own name', async () => {
    const test = await testDesk()
    await test.desk.setPermissionMode('s', 'acceptEdits')
    expect(await actsOf(test)).toMatchObject([{ act: 'permission_mode', via: 'direct' }])
  })

  it('is not recorded if the mode does not change', async () => {
    const test = await testDesk()
    await test.desk.as(ada).setPermissionMode('s', 'default')
    await test.desk.as(ada).setPermissionMode('s', 'plan', { idempotencyKey: 'k' })
    await test.desk.as(ada).setPermissionMode('s', 'plan', { idempotencyKey: 'k' })
    expect(await actsOf(test)).toHaveLength(1)
  })

  it('is the one who decided on a plan, if that changes the mode', async () => {
    const test = await testDesk({ session: { permissionMode: 'plan' } })
    const { interactionId } = await test.open('plan_review', plan)
    const seq = await test.seq()
    await test.desk.as(bob).respond({ interactionId, answer: { decision: 'edit' } })
    expect((await test.events(seq)).at(-1)).toMatchObject({
      type: 'session_status',
      permissionMode: 'acceptEdits',
      ...bob,
    })
    expect(await actsOf(test)).toMatchObject([{ act: 'permission_mode', subject: 'acceptEdits', ...bob }])
  })

  it('is not recorded for a status that only follows from an answer', async () => {
    const test = await testDesk({ session: { permissionMode: 'acceptEdits' } })
    const { interactionId } = await test.open('plan_review', plan)
    await test.desk.as(bob).respond({ interactionId, answer: { decision: 'edit' } })
    const status = (await test.events()).findLast(({ type }) => type === 'session_status')
    expect(status).not.toHaveProperty('by')
    expect(await actsOf(test)).toEqual([])
  })

  it('is in the audit when a session starts in a mode that asks less', async () => {
    const test = await testDesk()
    await test.desk.as(ada).createSession({ id: 'free', permissionMode: 'bypassPermissions' })
    await test.desk.as(ada).createSession({ id: 'usual' })
    expect(await actsOf(test)).toMatchObject([
      { act: 'permission_mode', sessionId: 'free', subject: 'bypassPermissions', ...ada },
    ])
    const [started] = await test.store.read({ sessionId: 'usual', limit: 1 })
    expect(started).toMatchObject(ada)
  })

  it('is in the audit for a rule that is created and one that is deleted', async () => {
    const test = await testDesk()
    const { interactionId } = await test.open('approval', listFiles)
    await test.desk.as(ada).respond({ interactionId, answer: { ...yes, scope: 'session' } })
    const [rule] = await test.desk.rules()
    await test.desk.as(bob).deleteRule(rule!.id, { idempotencyKey: 'k' })
    await test.desk.as(bob).deleteRule(rule!.id, { idempotencyKey: 'k' })
    expect(await actsOf(test)).toEqual([
      { at: test.clock.now(), act: 'rule_created', sessionId: 's', subject: rule!.id, ...ada },
      { at: test.clock.now(), act: 'rule_deleted', sessionId: 's', subject: rule!.id, ...bob },
    ])
  })

  it('stays in the audit after the session was deleted', async () => {
    const test = await testDesk()
    await test.desk.as(bob).setPermissionMode('s', 'bypassPermissions')
    await test.desk.as(ada).deleteSession('s')
    expect(await actsOf(test)).toMatchObject([
      { act: 'permission_mode', ...bob },
      { act: 'session_deleted', sessionId: 's', ...ada },
    ])
  })

  it('is the policy if a session is deleted because of its age', async () => {
    const test = await testDesk()
    test.clock.jump(2 * HOUR)
    await test.restart({ retentionMs: HOUR }).ready
    const acts = await actsOf(test)
    expect(acts).toMatchObject([{ act: 'session_deleted', sessionId: 's', via: 'policy' }])
    expect(acts[0]).not.toHaveProperty('by')
  })
})
